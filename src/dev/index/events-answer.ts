import { monotonicMs } from '../../time.ts'
import type { Entry } from '../event/entry.ts'
import type { EventsAnswer, EventsRequest, KeptEvent } from '../protocol.ts'
import type { Arrivals } from './arrivals.ts'
import type { EventStore } from './event-store.ts'
import type { Search } from './search.ts'

const defaultLimit = 200
const maxLimit = 1000
const maxWaitMs = 30_000
/** Number of entries that are read from the store at a time. */
const entriesPerRead = 1000
/** Maximum size of the lines in an answer, in bytes; the first line may be longer. */
const maxAnswerBytes = 8 * 1024 * 1024

export interface EventsDeps {
  readonly store: EventStore
  readonly search: Search
  readonly arrivals: Arrivals
  readonly newest: () => number
  readonly loaded: () => number
  readonly keptEvent: (entry: Entry) => KeptEvent
  readonly epoch: string
}

/** Reads events by their arrival numbers, which do not change while events arrive and are forgotten. */
export async function readEvents(
  deps: EventsDeps,
  request: EventsRequest,
  signal?: AbortSignal,
): Promise<EventsAnswer> {
  const order = request.order ?? (request.after === undefined ? 'desc' : 'asc')
  const read = order === 'asc' ? await readAscending(deps, request, signal) : await readDescending(deps, request)
  return {
    epoch: deps.epoch,
    events: read.events,
    next: read.next,
    newest: deps.newest(),
    loaded: deps.loaded(),
    forgotten: read.forgotten,
    reading: read.events.length === 0 ? deps.search.readingOfNothing : deps.search.reading,
  }
}

interface Read {
  readonly events: KeptEvent[]
  readonly next: number | null
  readonly forgotten: number
}

async function readAscending(deps: EventsDeps, request: EventsRequest, signal?: AbortSignal): Promise<Read> {
  const { after = 0, before = Number.POSITIVE_INFINITY } = request
  const waitUntil = monotonicMs() + Math.min(Math.max(request.waitMs ?? 0, 0), maxWaitMs)
  const answer = new Answer(deps, request)
  let next = after
  let forgotten = 0
  for (;;) {
    const end = Math.min(deps.newest(), before - 1)
    const entries = deps.store.after(next, entriesPerRead).filter(({ n }) => n <= end)
    const isLast = entries.length < entriesPerRead
    const seenTo = isLast ? Math.max(end, next) : (entries.at(-1) as Entry).n
    const { fullAt, lost } = await answer.take(entries)
    // The arrival numbers without an entry are those of forgotten events.
    const upTo = fullAt ?? seenTo
    forgotten += upTo - next - entries.filter(({ n }) => n <= upTo).length + lost.filter(n => n <= upTo).length
    next = upTo
    if (fullAt !== undefined || next >= before - 1) break
    if (!isLast) continue
    if (next > deps.newest()) break // a number of an earlier run, which this one may reach only much later
    if (answer.events.length > 0 || signal?.aborted === true || monotonicMs() >= waitUntil) break
    if (deps.newest() === next) await deps.arrivals.next(waitUntil - monotonicMs(), signal)
  }
  return { events: answer.events, next, forgotten }
}

async function readDescending(deps: EventsDeps, request: EventsRequest): Promise<Read> {
  const { after = 0, before = deps.newest() + 1 } = request
  const answer = new Answer(deps, request)
  let next = before
  for (;;) {
    const entries = deps.store.before(next, entriesPerRead).filter(({ n }) => n > after)
    const { fullAt } = await answer.take(entries)
    if (fullAt !== undefined) return { events: answer.events, next: fullAt, forgotten: 0 }
    if (entries.length < entriesPerRead) return { events: answer.events, next: null, forgotten: 0 }
    next = (entries.at(-1) as Entry).n
  }
}

/** Collects the matching events up to the limits of an answer. */
class Answer {
  readonly events: KeptEvent[] = []
  readonly #deps: EventsDeps
  readonly #request: EventsRequest
  readonly #limit: number
  #bytes = 0

  constructor(deps: EventsDeps, request: EventsRequest) {
    this.#deps = deps
    this.#request = request
    this.#limit = Math.min(Math.max(request.limit ?? defaultLimit, 1), maxLimit)
  }

  /**
   * Takes the entries that match. Returns the arrival number of the last one if the answer is full with it, and those of
   * the entries that were forgotten before they could be taken.
   */
  async take(entries: readonly Entry[]): Promise<{ fullAt: number | undefined; lost: readonly number[] }> {
    const { dataset, from, to } = this.#request
    const inRange = entries.filter(entry => {
      const isInTime = (from === undefined || entry.at >= from) && (to === undefined || entry.at <= to)
      return isInTime && (dataset === undefined || entry.dataset.name === dataset)
    })
    const lostNumbers: number[] = []
    for await (const { matched, lost } of this.#deps.search.inOrder(inRange)) {
      for (const { n } of lost) lostNumbers.push(n)
      for (const entry of matched) {
        if (!entry.isKept) {
          lostNumbers.push(entry.n)
          continue
        }
        this.events.push(this.#deps.keptEvent(entry))
        this.#bytes += entry.lineBytes
        const isFull = this.events.length >= this.#limit || this.#bytes >= maxAnswerBytes
        if (isFull) return { fullAt: entry.n, lost: lostNumbers }
      }
    }
    return { fullAt: undefined, lost: lostNumbers }
  }
}
