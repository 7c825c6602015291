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

/** What is this near to the fastest is as fast, as far as one can tell; the smaller or fewer is then the better choice. */
const asGoodAs = 0.9
/** Below, more requests are made for nothing; above, more is lost in a crash than needs be. */
const minAgeMs = 250
const maxAgeMs = 60_000
/** The most that the public service which resembles this one takes in a request. */
const proposedBatchEvents = 10_000

export const MiB = 1024 * 1024

/** Which of the batch sizes is best, from trials that differ in nothing else; undefined when nothing was delivered. */
export function bestSize(trials: readonly Trial[]): Trial | undefined {
  return best(trials, ({ maxBatchBytes }) => maxBatchBytes)
}

/**
 * Options for the service that was measured.
 *
 * @param sizes trials that differ in the size of batches
 * @param connections trials that differ in the number of connections, with the best size
 * @param eventBytes average size of an event as it is sent, in bytes
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
  // Both are approached from below, by halves and by steps: the most that was found is the nearest to the truth.
  const takesBytes = maxOf(all.map(trial => trial.takesBytes))
  const requestsPerSecond = maxOf(all.map(trial => trial.requestsPerSecond))
  const maxBatchBytes = Math.min(size.maxBatchBytes, takesBytes ?? Number.POSITIVE_INFINITY)
  const age = ageFor(chosen, requestsPerSecond)
  const ageWhy =
    requestsPerSecond === undefined
      ? `an answer takes ${shownMs(chosen.answerMs)}: a request each ${age} ms, when little is logged, is no burden`
      : `the service limits requests to about ${shownRate(requestsPerSecond)} a second: half of them, when little is logged`
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

/** The smallest that is as good as the fastest. Of what the service refused as too large, nothing is fast. */
function best(trials: readonly Trial[], sizeOf: (trial: Trial) => number): Trial | undefined {
  const delivered = trials.filter(trial => trial.delivered > 0)
  const taken = delivered.filter(({ takesBytes }) => takesBytes === undefined)
  const candidates = taken.length > 0 ? taken : delivered
  const enough = asGoodAs * Math.max(...candidates.map(({ eventsPerSecond }) => eventsPerSecond))
  return candidates
    .filter(({ eventsPerSecond }) => eventsPerSecond >= enough)
    .toSorted((a, b) => sizeOf(a) - sizeOf(b))[0]
}

/** Half of what the connections, or the service, can carry. */
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
    ? 'larger batches are hardly faster, and a retry sends less again'
    : 'the only size that was taken'
}

function connectionsWhy(chosen: Trial, connections: readonly Trial[]): string {
  const fewer = connections.filter(trial => trial.maxConcurrentRequests < chosen.maxConcurrentRequests)
  if (fewer.length === 0) return 'more at once are hardly faster'
  const fastest = Math.max(...fewer.map(({ eventsPerSecond }) => eventsPerSecond))
  if (fastest === 0) return 'the only number with which anything was delivered'
  return `${faster(chosen.eventsPerSecond / fastest)} fewer at once`
}

function eventsWhy(maxBatchBytes: number, eventBytes: number): string {
  const filledBelow = Math.floor(maxBatchBytes / proposedBatchEvents)
  if (eventBytes > filledBelow) return `bytes fill a batch first, unless events have fewer than ${filledBelow}`
  return `fills a batch before its bytes do, with events of ${Math.round(eventBytes)} bytes`
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
