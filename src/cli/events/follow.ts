import type { EventsAnswer } from '../../dev/protocol.ts'
import { counted } from '../../text/counted.ts'
import { delay, monotonicMs } from '../../time.ts'
import { type DevClient, ServiceTrouble } from './dev-client.ts'
import { charsOf, maxHeldChars, maxRestarts, restartsAgain } from './search.ts'
import type { ShownEvent } from './shown-event.ts'

export interface Wanted {
  readonly q: string
  readonly dataset: string | undefined
}

/** What has arrived, in the order in which it is to be printed: notices first. */
export interface Arrival {
  /** Sentences about a gap or a broken connection. */
  readonly notices: readonly string[]
  readonly events: readonly ShownEvent[]
  /** How the query was understood; only in the first arrival. */
  readonly reading?: EventsAnswer['reading'] | undefined
}

export interface FollowOptions extends Wanted {
  /** Number of events before now that are read first. */
  readonly last: number
  readonly signal: AbortSignal
}

interface Start {
  readonly epoch: string
  /** Number of the arrival after which the reader goes on. */
  readonly newest: number
  readonly events: readonly ShownEvent[]
  readonly reading: EventsAnswer['reading'] | undefined
  readonly notices: readonly string[]
}

const pageEvents = 1000
const waitMs = 25_000
const firstRetryMs = 250
const maxRetryMs = 5000
/** Time until the next request after an answer without events: a service that does not wait as asked is not flooded. */
const idleMs = 200

/**
 * Reads the events of a dev service from now on, by the numbers of their arrival and at the pace of the caller. Events
 * that the service forgot in between, and times without a connection, become notices. Ends only by an error.
 *
 * @throws ServiceTrouble if the first request fails, or the service refuses one
 */
export async function* follow(client: DevClient, options: FollowOptions): AsyncGenerator<Arrival> {
  const { q, dataset, signal } = options
  const start = await readLast(client, options)
  yield { notices: start.notices, events: start.events, reading: start.reading }
  let { epoch, newest: after } = start
  for (;;) {
    let next: EventsAnswer
    const notices: string[] = []
    try {
      next = await client.events({ q, dataset, after, order: 'asc', limit: pageEvents, waitMs }, signal)
    } catch (error) {
      if (!(error instanceof ServiceTrouble && error.mayPass)) throw error
      const sinceMs = monotonicMs()
      yield { notices: [`${error.message} Trying again.`], events: [] }
      next = await connectAgain(client, { q, dataset, after, order: 'asc', limit: pageEvents }, signal)
      notices.push(
        next.epoch === epoch
          ? afterSilence(next, after, sinceMs)
          : `disconnected ${seconds(sinceMs)} s; ${afterRestart(next)}`,
      )
      // The notice has counted them, unless only later pages can tell.
      if (next.epoch === epoch && isAtEnd(next)) next = { ...next, forgotten: 0 }
    }
    if (next.epoch !== epoch || next.newest < after) {
      if (notices.length === 0) notices.push(afterRestart(next))
      yield { notices, events: [] }
      epoch = next.epoch
      after = next.loaded // those of a file are not new
      await delay(idleMs, undefined, { signal })
      continue
    }
    if (next.forgotten > 0) notices.push(forgottenNotice(next.forgotten))
    yield { notices, events: next.events }
    after = next.next ?? after
    if (next.events.length === 0) await delay(idleMs, undefined, { signal })
  }
}

/** Reads the newest events, oldest first. Starts over if the service restarts meanwhile. */
async function readLast(client: DevClient, options: FollowOptions): Promise<Start> {
  for (let restarts = 0; restarts < maxRestarts; restarts++) {
    const start = await lastOfOneRun(client, options)
    if (start !== undefined) return start
  }
  throw restartsAgain()
}

/**
 * Reads the newest events up to one arrival number: events that arrive during the read have higher numbers, and follow.
 * Returns `undefined` if the service has restarted in between.
 */
async function lastOfOneRun(
  client: DevClient,
  { q, dataset, last, signal }: FollowOptions,
): Promise<Start | undefined> {
  const { epoch, newest } = await client.summary(signal)
  const events: ShownEvent[] = []
  let chars = 0
  let reading: EventsAnswer['reading'] | undefined
  let before: number | null = newest + 1
  do {
    const limit = Math.min(Math.max(last - events.length, 1), pageEvents)
    const page: EventsAnswer = await client.events({ q, dataset, before, order: 'desc', limit }, signal)
    if (page.epoch !== epoch) return undefined
    reading ??= page.reading
    events.push(...page.events)
    for (const event of page.events) chars += charsOf(event)
    before = page.next
  } while (before !== null && events.length < last && chars <= maxHeldChars)
  const notices = before !== null && events.length < last ? [cutLastNotice(events.length)] : []
  return { epoch, newest, reading, events: events.slice(0, last).reverse(), notices }
}

async function connectAgain(
  client: DevClient,
  request: Parameters<DevClient['events']>[0],
  signal: AbortSignal,
): Promise<EventsAnswer> {
  for (let retryMs = firstRetryMs; ; retryMs = Math.min(retryMs * 2, maxRetryMs)) {
    await delay(retryMs, undefined, { signal })
    try {
      return await client.events(request, signal)
    } catch (error) {
      if (!(error instanceof ServiceTrouble && error.mayPass)) throw error
    }
  }
}

function afterSilence(answer: EventsAnswer, after: number, sinceMs: number): string {
  const arrived = `disconnected ${seconds(sinceMs)} s; ${counted(Math.max(answer.newest - after, 0), 'event')} arrived meanwhile`
  return isAtEnd(answer)
    ? `${arrived}, ${answer.forgotten.toLocaleString('en')} of them were forgotten.`
    : `${arrived}.`
}

function isAtEnd({ next, newest }: EventsAnswer): boolean {
  return next === null || next >= newest
}

function afterRestart({ loaded }: EventsAnswer): string {
  const those = loaded === 0 ? '' : ` after the ${counted(loaded, 'event')} that it has loaded from a file`
  return `the service has restarted; its events follow from the first one${those}.`
}

function forgottenNotice(count: number): string {
  const were = counted(count, 'event was', 'events were')
  return `${were} forgotten by the service before being read. The service keeps the newest only.`
}

/** Tells that fewer earlier events than wanted are printed, because these are as many as may be held at a time. */
export function cutLastNotice(count: number): string {
  const newest = count === 1 ? 'one' : count.toLocaleString('en')
  return `more earlier events match than the newest ${newest}. Narrow the query for others.`
}

function seconds(sinceMs: number): string {
  return Math.round((monotonicMs() - sinceMs) / 1000).toLocaleString('en')
}
