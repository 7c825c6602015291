import type { ErrorCode } from '../errors.ts'
import { minEventBytes } from '../options/shipper-options.ts'
import type { Doubt, Outcome } from '../outcome.ts'
import { counted } from '../text/counted.ts'
import { milliseconds } from '../text/milliseconds.ts'
import { descriptorsRemedy, namesLackOfDescriptors } from '../text/out-of-descriptors.ts'
import { quoted } from '../text/short-line.ts'
import type { RateInForce } from './rate-limiter.ts'

/**
 * The code and text of a warning: the problem, the effect on events, and what to do. `about` is the subject for rate
 * limiting.
 */
type WarningText = readonly [code: ErrorCode, message: string, about?: string]

/** An answer that asks for another attempt, or the reason why no answer came. */
type Retryable = Pick<Outcome & { kind: 'retryable' }, 'status' | 'reason' | 'unanswered'>

export function unreachable({ reason, status, unanswered }: Retryable): WarningText {
  const ownRemedy = status === undefined ? remedyInProcess(reason) : undefined
  if (ownRemedy !== undefined) {
    const message = `no connection can be made (${reason}). Events are kept and sent again. ${ownRemedy}`
    return ['LOGFERRY_UNREACHABLE', message, 'process']
  }
  const answer = status === undefined ? reason : `${status} ${reason}`
  return [
    'LOGFERRY_UNREACHABLE',
    `the service is not accepting events (${answer}). Events are kept and sent again. If this lasts, check the network, ` +
      `baseUrl, the certificates and the service: \`npx logferry check\` looks at each.${unanswered === 'silent' ? ` ${slownessRemedy}` : ''}`,
  ]
}

/** Returns the remedy if this process itself can connect to nothing, however well the network and the service are. */
function remedyInProcess(reason: string): string | undefined {
  if (namesLackOfDescriptors(reason)) return descriptorsRemedy
  if (isOfClosedDispatcher.test(reason)) return dispatcherRemedy
  return isForbidden.test(reason) ? permissionRemedy : undefined
}

/** An error of Node. Proxies use the same word in their answers. */
const isForbidden = /^(connect|getaddrinfo) ERR_ACCESS_DENIED\b/
const permissionRemedy = "Node's permissions forbid connections: run Node with --allow-net, or without --permission."

/** An error of undici. */
const isOfClosedDispatcher = /^The client is (closed|destroyed)$/
const dispatcherRemedy = 'The option dispatcher is closed: close it only after the close() of the shipper has resolved.'

const slownessRemedy =
  'If the service is only slow, raise requestTimeoutMs: events whose answer comes too late are sent again, and may be stored twice.'

/** Warns of a dataset whose events the service does not accept, while it accepts those of others. */
export function unreachableAlone(dataset: string, reason: string): WarningText {
  return [
    'LOGFERRY_UNREACHABLE',
    `the service is not accepting events for dataset ${quoted(dataset)} (${reason}), but accepts those for others. Events are ` +
      'kept and sent again. If this lasts, check that dataset and its limits at the service.',
    'dataset',
  ]
}

/**
 * @param waitMs time until the next request, in milliseconds; `Infinity` if the fleet has not given this process a turn yet
 * @param isLicensed true if the license already limits the requests
 */
export function askedTooOften(reason: string, status: number, waitMs: number, isLicensed: boolean): WarningText {
  const hint = isLicensed ? '' : ' The option limits keeps requests within the rate of the license.'
  return [
    'LOGFERRY_UNREACHABLE',
    `the service's rate limit is reached (${status} ${reason}). Events are kept, and the next request follows ${whenItFollows(waitMs)}. ` +
      `If this lasts, let fewer processes share the limit, or raise the limit.${hint}`,
    'rate limit',
  ]
}

function whenItFollows(waitMs: number): string {
  if (waitMs === Number.POSITIVE_INFINITY) return 'at the next turn that limits.fleet gives this process'
  if (waitMs < 1) return 'at once'
  return waitMs < 1000 ? `in ${milliseconds(waitMs)}` : `in ${Math.round(waitMs / 1000)} s`
}

/** Returns advice for an operator if attempts failed until the deadline. */
export function failureRemedy(failure: string, unanswered?: Retryable['unanswered']): string {
  const ownRemedy = remedyInProcess(failure)
  if (ownRemedy !== undefined) return ownRemedy
  const times =
    unanswered === 'silent' ? 'requestTimeoutMs, flushTimeoutMs, exitTimeoutMs' : 'flushTimeoutMs, exitTimeoutMs'
  return `Check the network, baseUrl, the certificates and the service (\`npx logferry check\` looks at each), or allow more time (${times}).`
}

/** Why events could not be delivered, and what an operator can do. */
export interface Failure {
  readonly reason: string
  readonly remedy: string
}

/**
 * Explains a loss by a request that waits for its answer.
 *
 * @param acceptedBytes size of a smaller batch that was sent later and accepted
 */
export function unansweredFailure(bytes: number, acceptedBytes: number | undefined, waitMs: number): Failure {
  const reason = `a batch of ${bytes} bytes has had no answer for ${milliseconds(waitMs)}`
  if (acceptedBytes === undefined) return { reason, remedy: failureRemedy(reason) }
  return { reason: `${reason}, and ${smallerIsTaken(acceptedBytes)}`, remedy: silenceRemedy }
}

/** Warns of a request without an answer, while a smaller one that was sent later was accepted. */
export function batchUnanswered(bytes: number, acceptedBytes: number, reason: string): WarningText {
  return [
    'LOGFERRY_UNREACHABLE',
    `the service gives no answer to a batch of ${bytes} bytes (${reason}), and ${smallerIsTaken(acceptedBytes)}. The events are ` +
      `kept and sent again. ${silenceRemedy}`,
    'silence',
  ]
}

function smallerIsTaken(bytes: number): string {
  return `it accepts a later one of ${bytes} bytes`
}

const silenceRemedy =
  'Large packets may be lost on the way, for example in a VPN or tunnel: check its MTU. Or the service is slow with large ' +
  'batches: lower maxBatchBytes, or allow more time (requestTimeoutMs, flushTimeoutMs, exitTimeoutMs).'

/** Warns of events that wait only for the request rate. */
export function pacedFor(pending: number, inForce: RateInForce): WarningText {
  const events = pending === 1 ? '1 event is waiting' : `${pending} events are waiting`
  return ['LOGFERRY_LIMITS', `${events}, because ${paceReason(inForce)}. ${paceRemedy}`, 'pace']
}

/** Names the rate that holds requests back, and its source: “…, because {reason}.” */
export function paceReason({ requestsPerSecond, because }: RateInForce): string {
  const count = Number(requestsPerSecond.toPrecision(2))
  const rate = `${count} ${count === 1 ? 'request' : 'requests'} per second`
  if (because === 'throttled') return `this process slowed down to ${rate} after the service answered 429`
  if (because === 'headers') return `the service's rate-limit headers allow ${rate}`
  if (because === 'lease') return `this process's share of the license is ${rate}`
  return `the license allows this process ${rate}`
}

export const paceRemedy =
  'Allow more time (flushTimeoutMs, exitTimeoutMs), ship to fewer datasets, let fewer processes share the limit, or raise the limit.'

/** Why events wait, and what an operator can do. */
export interface Waiting {
  /** The reason, to be added to a clause: “…, because {reason}” or “… ({reason})”. */
  readonly clause: string
  readonly remedy: string
}

/** An answer that pauses a dataset. */
interface PausedBy {
  readonly dataset: string
  readonly status: number
  readonly reason: string
}

/** Names the answer that holds events back: “…, because {reason}.” */
export function pauseReason({ dataset, status, reason }: PausedBy): string {
  return `the service answers ${status} (${reason}) for dataset ${quoted(dataset)}`
}

export function paused(dataset: string, status: number, reason: string): WarningText {
  return [
    'LOGFERRY_PAUSED',
    `delivery to dataset ${quoted(dataset)} is paused: the service answers ${status} (${reason}). ` +
      `${remedyFor(status)} Events are kept while memory or the spool has room. Delivery is tried again from time to time.`,
    dataset,
  ]
}

export function rejected(dataset: string, count: number, reason: string): WarningText {
  const events = count === 1 ? '1 event' : `${count} events`
  return [
    'LOGFERRY_REJECTED',
    `the service refused ${events} for dataset ${quoted(dataset)} (${reason}). Refused events are not sent again. ` +
      'The option onRejected receives them, and the spool, if there is one, keeps them in rejected.ndjson.',
    `refused ${dataset}`,
  ]
}

/** Warns of an answer that accepts events by its status, but not by its body. */
export function doubtful(dataset: string, count: number, failed: number, doubt: Doubt): WarningText {
  const sent = `${counted(count, 'event')} for dataset ${quoted(dataset)}`
  const [what, remedy] =
    'page' in doubt
      ? [
          `the answer to ${sent} is a web page, not one of the service (${doubt.page})`,
          'Check baseUrl, and any proxy, firewall or login page of the network.',
        ]
      : [
          `of ${sent}, the service counts ${doubt.ingested} as ingested and ${failed} as failed`,
          'Check at the service whether all have arrived.',
        ]
  const delivered = `${counted(count - failed, 'event')} ${count - failed === 1 ? 'counts' : 'count'} as delivered`
  return ['LOGFERRY_REJECTED', `${what}. ${delivered}, because the status is 2xx. ${remedy}`, `doubtful ${dataset}`]
}

export function refusedAndKept(dataset: string, reason: string): WarningText {
  return [
    'LOGFERRY_REJECTED',
    `the service refused 1 event for dataset ${JSON.stringify(dataset)} (${reason}). The event is kept and sent again, because ` +
      'the service has accepted no other event of this dataset since. Check baseUrl, the token, the dataset, and any ' +
      'proxy or firewall on the way to the service.',
    `kept ${dataset}`,
  ]
}

export function eventTooLarge(bytes: number): WarningText {
  return [
    'LOGFERRY_REJECTED',
    `the service answers 413 to a single event of ${bytes} bytes. The event is dropped. ` +
      (bytes > minEventBytes
        ? 'Lower maxEventBytes.'
        : 'No event is much smaller: check any proxy or firewall on the way to the service.'),
    'size',
  ]
}

/** @param status `undefined` if no answer came */
export function batchTooLarge(bytes: number, nowAtMost: number, status: number | undefined): WarningText {
  const link = status === undefined ? ', or the way to the service is slow' : ''
  const accepted =
    status === 413 ? '' : `, and accepts smaller ones. A firewall or gateway may limit the size of requests${link}`
  return [
    'LOGFERRY_STEPPED_DOWN',
    `the service answers ${status ?? 'nothing'} to a batch of ${bytes} bytes${accepted}. Batches now have at most ${nowAtMost} bytes, and larger ones are ` +
      'tried again from time to time. Set maxBatchBytes to a size that the service accepts.',
    'batch size',
  ]
}

export function encodingRefused(refused: string, used: string): WarningText {
  return [
    'LOGFERRY_STEPPED_DOWN',
    `the service refuses bodies compressed with ${refused}. The compression is now '${used}', and '${refused}' is tried again ` +
      `from time to time. Set compression: '${used}' to avoid these attempts.`,
    'compression',
  ]
}

export function remedyFor(status: number): string {
  if (status === 401 || status === 403) return 'Check that the token is valid and may ingest into this dataset.'
  if (status === 404) return 'Check the dataset name and baseUrl, to which logferry appends /v1/datasets/….'
  if (status >= 300 && status < 400 && status !== 304)
    return 'Redirects are not followed: set baseUrl to the final address.'
  if (status === 400 || status === 413 || status === 422)
    return 'The service refuses every event. Check baseUrl, the form of the events, and any proxy or firewall on the way to the service.'
  if (status === 407) return 'Check the credentials of the proxy.'
  if (status === 415) return 'Set contentType to the other media type.'
  return 'Check baseUrl and the options.'
}
