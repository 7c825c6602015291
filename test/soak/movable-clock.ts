/**
 * A clock of the machine that can be moved. Import this module before the product, which keeps the `Date.now` that it
 * finds.
 */
const { now } = Date
let movedByMs = 0

Date.now = () => now() + movedByMs

export function moveClock(byMs: number): void {
  movedByMs = byMs
}
