import type { EventsAnswer } from '../../dev/protocol.ts'
import { delay, monotonicMs } from '../../time.ts'
import { type DevClient, ServiceTrouble } from './dev-client.ts'
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

const pageEvents = 1000
const waitMs = 25_000
const firstRetryMs = 250
const maxRetryMs = 5000

/**
 * Reads the events of a dev service from now on, by the numbers of their arrival and at the pace of the caller. Events
 * that the service forgot in between, and times without a connection, become notices. Ends only by an error.
 *
 * @throws ServiceTrouble if the first request fails, or the service refuses one
 */
export async function* follow(client: DevClient, options: FollowOptions): AsyncGenerator<Arrival> {
  const { q, dataset, signal } = options
  const { events, answer } = await readLast(client, options)
  yield { notices: [], events, reading: answer.reading }
  let { epoch, newest: after } = answer
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
      notices.push(next.epoch === epoch ? afterSilence(next, after, sinceMs) : afterRestart(sinceMs))
      if (next.epoch === epoch) next = { ...next, forgotten: 0 } // the notice has counted them
    }
    if (next.epoch !== epoch || next.newest < after) {
      if (notices.length === 0) notices.push('the service has restarted; its events follow from the first one.')
      yield { notices, events: [] }
      epoch = next.epoch
      after = 0
      continue
    }
    if (next.forgotten > 0) notices.push(forgottenNotice(next.forgotten))
    yield { notices, events: next.events }
    after = next.next ?? after
  }
}

/** Reads the newest events, oldest first, and the number of the newest arrival. */
async function readLast(client: DevClient, { q, dataset, last, signal }: FollowOptions) {
  const limit = Math.min(Math.max(last, 1), pageEvents)
  const answer = await client.events({ q, dataset, order: 'desc', limit }, signal)
  const events = answer.events.slice(0, last)
  for (let { next } = answer; next !== null && events.length < last; ) {
    const left = Math.min(last - events.length, pageEvents)
    const page = await client.events({ q, dataset, before: next, order: 'desc', limit: left }, signal)
    if (page.epoch !== answer.epoch) break // restarted: `follow` notices
    events.push(...page.events)
    next = page.next
  }
  return { events: events.reverse(), answer }
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

function afterSilence({ newest, forgotten }: EventsAnswer, after: number, sinceMs: number): string {
  const arrived = Math.max(newest - after, 0)
  return (
    `disconnected ${seconds(sinceMs)} s; ${counted(arrived)} arrived meanwhile, ` +
    `${forgotten.toLocaleString('en')} of them were forgotten.`
  )
}

function afterRestart(sinceMs: number): string {
  return `disconnected ${seconds(sinceMs)} s; the service has restarted; its events follow from the first one.`
}

function forgottenNotice(count: number): string {
  const were = count === 1 ? 'was' : 'were'
  return `${counted(count)} ${were} forgotten by the service before they could be read. It keeps the newest only.`
}

function seconds(sinceMs: number): string {
  return Math.round((monotonicMs() - sinceMs) / 1000).toLocaleString('en')
}

function counted(count: number): string {
  return `${count.toLocaleString('en')} ${count === 1 ? 'event' : 'events'}`
}
