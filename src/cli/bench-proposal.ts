import type { Trial } from './bench-trial.ts'

/** Options to set, each with the reason for its value. */
export interface Proposal {
  readonly maxBatchBytes: number
  readonly maxBatchEvents: number
  readonly maxBatchAgeMs: number
  readonly maxConcurrentRequests: number
  readonly reasons: Readonly<
    Record<'maxBatchBytes' | 'maxBatchEvents' | 'maxBatchAgeMs' | 'maxConcurrentRequests', string>
  >
}

/**
 * A trial within this ratio of the fastest counts as equally fast, because smaller differences cannot be told from
 * noise. Of equally fast trials, the one with the smaller batches or the fewer connections wins.
 */
const asGoodAs = 0.9
/** Below the minimum, extra requests bring no gain; above the maximum, a crash loses more than it must. */
const minAgeMs = 250
const maxAgeMs = 60_000
/** The maximum number of events that the public service which resembles this one accepts in one request. */
const proposedBatchEvents = 10_000

export const MiB = 1024 * 1024

/**
 * Returns the trial with the best batch size, or `undefined` if no trial delivered anything. The trials must differ in
 * batch size only.
 */
export function bestSize(trials: readonly Trial[]): Trial | undefined {
  return best(trials, ({ maxBatchBytes }) => maxBatchBytes)
}

/**
 * Proposes options for the measured service.
 *
 * @param sizes trials that differ in batch size
 * @param connections trials with the best batch size that differ in the number of connections
 * @param eventBytes average size of an event as it is sent, in bytes
 * @returns `undefined` if no trial delivered anything
 */
export function propose(
  sizes: readonly Trial[],
  connections: readonly Trial[],
  eventBytes: number,
): Proposal | undefined {
  const size = bestSize(sizes)
  const chosen = best(connections, ({ maxConcurrentRequests }) => maxConcurrentRequests)
  if (size === undefined || chosen === undefined) return undefined
  const all = [...sizes, ...connections]
  // Trials approach both limits from below: sizes are halved after a 413, rates rise in steps. The maximum is closest
  // to the true limit.
  const takesBytes = maxOf(all.map(trial => trial.takesBytes))
  const requestsPerSecond = maxOf(all.map(trial => trial.requestsPerSecond))
  const maxBatchBytes = Math.min(size.maxBatchBytes, takesBytes ?? Number.POSITIVE_INFINITY)
  const age = ageFor(chosen, requestsPerSecond)
  const ageWhy =
    requestsPerSecond === undefined
      ? `an answer takes ${shownMs(chosen.answerMs)}, so a request every ${age} ms is no burden when little is logged`
      : `the service allows about ${shownRate(requestsPerSecond)} requests per second; this uses half when little is logged`
  return {
    maxBatchBytes,
    maxBatchEvents: proposedBatchEvents,
    maxBatchAgeMs: age,
    maxConcurrentRequests: chosen.maxConcurrentRequests,
    reasons: {
      maxBatchBytes: takesBytes === undefined ? sizeWhy(size, sizes) : `the service answers larger requests with 413`,
      maxBatchEvents: eventsWhy(maxBatchBytes, eventBytes),
      maxBatchAgeMs: ageWhy,
      maxConcurrentRequests: connectionsWhy(chosen, connections),
    },
  }
}

/** Returns the smallest trial that is as good as the fastest. Trials with a 413 count only if there are no others. */
function best(trials: readonly Trial[], sizeOf: (trial: Trial) => number): Trial | undefined {
  const delivered = trials.filter(trial => trial.delivered > 0)
  const taken = delivered.filter(({ takesBytes }) => takesBytes === undefined)
  const candidates = taken.length > 0 ? taken : delivered
  const enough = asGoodAs * Math.max(...candidates.map(({ eventsPerSecond }) => eventsPerSecond))
  return candidates
    .filter(({ eventsPerSecond }) => eventsPerSecond >= enough)
    .toSorted((a, b) => sizeOf(a) - sizeOf(b))[0]
}

/**
 * Returns the batch age at which requests use half the capacity of the connections or of the service, in milliseconds.
 */
function ageFor({ answerMs, maxConcurrentRequests }: Trial, requestsPerSecond: number | undefined): number {
  const forAnswers = (2 * answerMs) / maxConcurrentRequests
  const forRate = requestsPerSecond === undefined ? 0 : 2000 / requestsPerSecond
  const rounded = Math.ceil(Math.max(forAnswers, forRate, minAgeMs) / 50) * 50
  return Math.min(rounded, maxAgeMs)
}

function sizeWhy(size: Trial, sizes: readonly Trial[]): string {
  const larger = sizes.filter(trial => trial.maxBatchBytes > size.maxBatchBytes && trial.delivered > 0)
  const smaller = sizes.filter(trial => trial.maxBatchBytes < size.maxBatchBytes && trial.delivered > 0)
  const gain = (trials: readonly Trial[]) =>
    size.eventsPerSecond / Math.max(...trials.map(each => each.eventsPerSecond))
  if (smaller.length > 0) return `${faster(gain(smaller))} smaller batches`
  return larger.length > 0
    ? 'larger batches are hardly faster, and smaller ones make retries cheaper'
    : 'the only size that the service accepted'
}

function connectionsWhy(chosen: Trial, connections: readonly Trial[]): string {
  const fewer = connections.filter(trial => trial.maxConcurrentRequests < chosen.maxConcurrentRequests)
  if (fewer.length === 0) return 'more connections are hardly faster'
  const fastest = Math.max(...fewer.map(({ eventsPerSecond }) => eventsPerSecond))
  if (fastest === 0) return 'the only number of connections that delivered anything'
  return `${faster(chosen.eventsPerSecond / fastest)} fewer connections`
}

function eventsWhy(maxBatchBytes: number, eventBytes: number): string {
  const filledBelow = Math.floor(maxBatchBytes / proposedBatchEvents)
  if (eventBytes > filledBelow)
    return `a batch reaches maxBatchBytes first, unless events have fewer than ${filledBelow} bytes`
  return `a batch reaches this number before maxBatchBytes, with events of ${Math.round(eventBytes)} bytes`
}

function maxOf(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter(value => value !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}

function faster(ratio: number): string {
  return ratio < 3
    ? `${Math.round((ratio - 1) * 100)} % faster than with`
    : `${Math.round(ratio)} times as fast as with`
}

export function shownMs(ms: number): string {
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`
}

function shownRate(perSecond: number): string {
  return perSecond < 10 ? perSecond.toFixed(1) : String(Math.round(perSecond))
}
