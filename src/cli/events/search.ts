import type { EventsAnswer } from '../../dev/protocol.ts'
import { type DevClient, ServiceTrouble } from './dev-client.ts'
import type { ShownEvent } from './shown-event.ts'

/** Which events are wanted. Times are milliseconds since 1970. */
export interface Search {
  readonly q: string
  readonly dataset: string | undefined
  readonly from: number | undefined
  readonly to: number | undefined
  /** Maximum number of events: the newest ones. */
  readonly limit: number
}

export interface FoundEvents {
  /** By their time, oldest first. */
  readonly events: ShownEvent[]
  /** Sentences about what is missing. */
  readonly notices: readonly string[]
  readonly reading: Pick<EventsAnswer['reading'], 'readAs' | 'notes'> | undefined
}

const pageEvents = 1000
/** Maximum characters of events that are held at a time. */
export const maxHeldChars = 268_435_456
export const maxRestarts = 3

/** Reads the newest events that match from a dev service. */
export async function newestEvents(client: DevClient, search: Search, signal: AbortSignal): Promise<FoundEvents> {
  for (let restarts = 0; restarts < maxRestarts; restarts++) {
    const found = await newestOfOneRun(client, search, signal)
    if (found !== undefined) return found
  }
  throw restartsAgain()
}

export function restartsAgain(): ServiceTrouble {
  return new ServiceTrouble('the service restarts again and again. Look at the output of logferry dev.', false)
}

/** Returns the characters of the texts of an event: a service chooses the length of each. */
export function charsOf({ line, message, dataset, source, traceId }: ShownEvent): number {
  return line.length + message.length + dataset.length + (source?.length ?? 0) + (traceId?.length ?? 0)
}

/** Returns `undefined` if the service has restarted in between. */
async function newestOfOneRun(
  client: DevClient,
  { limit, ...wanted }: Search,
  signal: AbortSignal,
): Promise<FoundEvents | undefined> {
  const read: ShownEvent[][] = []
  let left = limit + 1 // one more than wanted tells if there are more
  let chars = 0
  let before: number | undefined
  let first: EventsAnswer | undefined
  do {
    const page = await client.events({ ...wanted, before, order: 'desc', limit: Math.min(left, pageEvents) }, signal)
    first ??= page
    if (page.epoch !== first.epoch) return undefined
    read.push(page.events)
    left -= page.events.length
    for (const event of page.events) chars += charsOf(event)
    before = page.next ?? undefined
  } while (before !== undefined && left > 0 && chars <= maxHeldChars)
  const newest = new NewestEvents(limit)
  for (const event of read.flat().reverse()) newest.add(event)
  return { ...newest.result(), reading: first.reading }
}

/** Keeps the newest of the events that are added in any order, up to a number and a size. */
export class NewestEvents {
  readonly #limit: number
  #events: ShownEvent[] = []
  #chars = 0
  #isCut = false

  constructor(limit: number) {
    this.#limit = limit
  }

  /** True once an event was left out. */
  get isCut(): boolean {
    return this.#isCut
  }

  add(event: ShownEvent): void {
    this.#events.push(event)
    this.#chars += charsOf(event)
    if (this.#events.length > 2 * this.#limit || this.#chars > 2 * maxHeldChars) this.#cut()
  }

  /**
   * Leaves out the oldest events beyond the limits. Of events of the same nanosecond, those that were added first are
   * older.
   */
  #cut(): void {
    this.#events.sort((one, other) => one.at - other.at || nanosecondsOf(one) - nanosecondsOf(other))
    let [first, chars] = [this.#events.length, 0]
    while (first > 0 && this.#events.length - first < this.#limit) {
      const next = charsOf(this.#events[first - 1] as ShownEvent)
      if (chars + next > maxHeldChars) break
      chars += next
      first--
    }
    this.#isCut ||= first > 0
    this.#events = this.#events.slice(first)
    this.#chars = chars
  }

  /**
   * Returns the events by their time, oldest first. Events of the same nanosecond keep the order in which they were
   * added.
   */
  result(): Pick<FoundEvents, 'events' | 'notices'> {
    this.#cut()
    const events = this.#events
    return { events, notices: this.#isCut ? [cutNotice(events.length, this.#limit)] : [] }
  }
}

/** Timestamps of a shipper tell events of the same millisecond apart, whatever their datasets. */
function nanosecondsOf({ line }: ShownEvent): number {
  return Number(/^\{"_time":"[^"]{19}\.\d{3}(\d{6})Z"/.exec(line)?.[1] ?? 0)
}

function cutNotice(count: number, limit: number): string {
  const newest = count === 1 ? 'one' : count.toLocaleString('en')
  // Fewer than the limit are as many as may be held at a time.
  const remedy = count < limit ? 'Narrow' : 'Raise --limit, or narrow'
  return `more events match than the newest ${newest}. ${remedy} --since, --until or the query, for others.`
}
