/** The machine's clock, to be moved. To be imported before the product, which keeps `Date.now` as it is when it is loaded. */
const { now } = Date
let movedByMs = 0

Date.now = () => now() + movedByMs

export function moveClock(byMs: number): void {
  movedByMs = byMs
}
