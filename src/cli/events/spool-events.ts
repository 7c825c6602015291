import { sourceOf } from '../../dev/event/source-of.ts'
import { EventIndex } from '../../dev/event-index.ts'
import type { EventsAnswer } from '../../dev/protocol.ts'
import { shownPath } from '../../spool/file-names.ts'
import { assertSpool, readSpool, type SpooledEvent } from '../../spool/read-spool.ts'
import { SpoolTail } from '../../spool/spool-tail.ts'
import { counted } from '../../text/counted.ts'
import { toShortLine } from '../../text/short-line.ts'
import { delay, systemTimeMs } from '../../time.ts'
import { type Arrival, cutLastNotice, type FollowOptions, type Wanted } from './follow.ts'
import { type FoundEvents, NewestEvents, type Search } from './search.ts'
import type { ShownEvent } from './shown-event.ts'
import { writtenTime } from './written-time.ts'

/** Number of events that are matched at a time, and of those that the index keeps. */
const atOnce = 1000
const keptEvents = 10_000
const keptBytes = 268_435_456
const lookEveryMs = 200
/** Maximum number of segments that are named as left out. */
const maxNamed = 20

/**
 * Matches events of a spool with a query, in the same way as a dev service does: a small index takes them, finds the
 * matches, and forgets them.
 */
class SpoolMatcher {
  readonly #wanted: Wanted & Partial<Pick<Search, 'from' | 'to'>>
  readonly #index = new EventIndex({ epoch: 'spool', maxEvents: keptEvents, maxBytes: keptBytes, nowMs: systemTimeMs })
  #after = 0
  #hasMatched = false
  #reading: EventsAnswer['reading'] | undefined

  constructor(wanted: Wanted & Partial<Pick<Search, 'from' | 'to'>>) {
    this.#wanted = wanted
  }

  /** How the query was understood, with the fields of the events so far. */
  get reading(): EventsAnswer['reading'] | undefined {
    return this.#reading
  }

  /** Returns the events that match. */
  async matches(events: readonly SpooledEvent[]): Promise<ShownEvent[]> {
    const matches: ShownEvent[] = []
    for (let start = 0; start < events.length; start += atOnce) {
      for (const event of events.slice(start, start + atOnce)) this.#add(event)
      await this.#addMatches(matches)
    }
    return matches
  }

  async #addMatches(matches: ShownEvent[]): Promise<void> {
    const { q, dataset, from, to } = this.#wanted
    while (this.#after < this.#index.newest) {
      const page = { after: this.#after, order: 'asc', limit: atOnce } as const
      const answer = await this.#index.events({ q, dataset, from, to, ...page })
      matches.push(...answer.events)
      // The notes of a part without a match say why nothing matches.
      if (answer.events.length > 0 || !this.#hasMatched) this.#reading = answer.reading
      this.#hasMatched ||= answer.events.length > 0
      this.#after = answer.next ?? this.#index.newest
    }
  }

  #add(spooled: SpooledEvent): void {
    const { dataset, line } = spooled
    const event = JSON.parse(line) as Record<string, unknown> // the line is an object: the reader has checked
    const source = sourceOf(event)
    const receivedAt = writtenTime(spooled, event._time)
    this.#index.add({ dataset, source, line, event, receivedAt, request: null, duplicate: false })
  }
}

/** Reads the newest events that match from a spool, and leaves it as it is. */
export async function newestInSpool(directory: string, search: Search, signal: AbortSignal): Promise<FoundEvents> {
  const matcher = new SpoolMatcher(search)
  const newest = new NewestEvents(search.limit)
  const left: string[] = []
  let lost = 0
  for await (const segment of readSpool(directory)) {
    if (signal.aborted) break
    if ('reason' in segment) {
      if (left.length < maxNamed) left.push(`${shownPath(segment)} is left out: ${toShortLine(segment.reason)}.`)
      continue
    }
    lost += segment.lost
    for (const event of await matcher.matches(segment.events)) newest.add(event)
  }
  const { events, notices } = newest.result()
  if (lost > 0)
    left.push(
      `${counted(lost, 'damaged event is', 'damaged events are')} left out. logferry spool verify names ${lost === 1 ? 'it' : 'them'}.`,
    )
  return { events, notices: [...left, ...notices], reading: matcher.reading }
}

/** Follows what applications write to a spool. Ends only by an error. */
export async function* followSpool(
  directory: string,
  { last, signal, ...wanted }: FollowOptions,
): AsyncGenerator<Arrival> {
  await assertSpool(directory)
  const tail = new SpoolTail(directory)
  const matcher = new SpoolMatcher(wanted)
  try {
    const before = new NewestEvents(Math.max(last, 1))
    for await (const events of tail.readNew()) {
      if (last === 0) continue
      for (const event of await matcher.matches(events)) before.add(event)
    }
    const events = last === 0 ? [] : before.result().events
    const notices = before.isCut && events.length < last ? [cutLastNotice(events.length)] : []
    yield { notices, events, reading: matcher.reading }
    for (;;) {
      await delay(lookEveryMs, undefined, { signal })
      const missed = yield* arrivalsIn(tail.readNew(), matcher)
      if (missed > 0) yield { notices: [missedNotice(missed)], events: [] }
    }
  } finally {
    await tail.close()
  }
}

/** Yields the events that match, segment by segment. Returns what the reading returns at its end. */
async function* arrivalsIn(
  reading: ReturnType<SpoolTail['readNew']>,
  matcher: SpoolMatcher,
): AsyncGenerator<Arrival, number> {
  for (;;) {
    const { done, value } = await reading.next()
    if (done === true) return value
    yield { notices: [], events: await matcher.matches(value) }
  }
}

function missedNotice(count: number): string {
  const batches = counted(count, 'batch was', 'batches were')
  return `${batches} delivered, or could not be read, before the events were printed.`
}
