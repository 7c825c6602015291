import type { Shipper } from '../../index.ts'
import { clearTimeout, setTimeout } from '../../time.ts'
import type { LinesToEvents } from './lines-to-events.ts'

const carriageReturn = 0x0d
/** Time after which a wait for room is reported, in milliseconds. */
const reportAfterMs = 2000
/** Time after which the wait for events that are not safe yet is begun anew, in milliseconds. */
const retryEveryMs = 1000

export interface ShipLinesOptions {
  readonly shipper: Shipper
  readonly events: LinesToEvents
  /** Aborted when lines must be shipped without a wait for room. */
  readonly signal: AbortSignal
  /** Called when the wait for room has taken a while. */
  readonly onPaused: () => void
}

/** Ships lines, as fast as there is room for their events. */
export class ShipLines {
  readonly #options: ShipLinesOptions
  /** Number of events below the minimum severity. */
  belowMinimum = 0
  /** True while lines wait for room. */
  isPaused = false

  constructor(options: ShipLinesOptions) {
    this.#options = options
  }

  /** Ships the lines in a text. Resolves when every line has been accepted. */
  async ship(text: string): Promise<void> {
    for (let at = this.#shipSome(text, 0); at < text.length; at = this.#shipSome(text, at)) await this.#whenFree()
  }

  /**
   * Resolves to true when a kill of the process would lose no event: each one is on disk or, if the disk cannot be
   * used, delivered. Resolves to false if `signal` is aborted before.
   */
  async whenSafe(): Promise<boolean> {
    const { shipper, signal } = this.#options
    while (!shipper.room.isEveryEventSafe && !signal.aborted) await shipper.flush({ timeoutMs: retryEveryMs })
    return shipper.room.isEveryEventSafe
  }

  /** Ships lines from `start` on until there is no room. Returns the index of the first line that was not shipped. */
  #shipSome(text: string, start: number): number {
    const { shipper, signal } = this.#options
    const { room } = shipper
    let at = start
    while (at < text.length && (room.isFree || signal.aborted)) {
      const found = text.indexOf('\n', at)
      const end = found < 0 ? text.length : found
      const isCrlf = end > at && text.charCodeAt(end - 1) === carriageReturn
      this.#shipLine(text.slice(at, isCrlf ? end - 1 : end))
      at = end + 1
    }
    return at
  }

  #shipLine(line: string): void {
    const { shipper, events } = this.#options
    const event = events.next(line)
    if (event === undefined) return
    if (shipper.isBelowMinimum(event.severity)) this.belowMinimum++
    else shipper.take(event)
  }

  async #whenFree(): Promise<void> {
    const { shipper, signal, onPaused } = this.#options
    this.isPaused = true
    const timer = setTimeout(onPaused, reportAfterMs)
    await shipper.room.whenFree(signal)
    clearTimeout(timer)
    this.isPaused = false
  }
}
