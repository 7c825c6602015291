import type { ErrorCode } from '../errors.ts'
import { milliseconds } from '../text/milliseconds.ts'
import { quoted } from '../text/short-line.ts'
import type { RateInForce } from './rate-limiter.ts'

/**
 * The code and text of a warning: the problem, the effect on events, and what to do. `about` is the subject for rate
 * limiting.
 */
export type WarningText = readonly [code: ErrorCode, message: string, about?: string]

export function unreachable(reason: string, status: number | undefined): WarningText {
  const answer = status === undefined ? reason : `${status} ${reason}`
  return [
    'LOGFERRY_UNREACHABLE',
    `the service does not take events now (${answer}). They are kept and sent again; if this lasts, check the network, ` +
      'baseUrl and certificates, and the state of the service.',
  ]
}

/** @param waitMs time until the next request, in milliseconds */
export function askedTooOften(reason: string, status: number, waitMs: number): WarningText {
  const wait = waitMs < 1000 ? milliseconds(waitMs) : `${Math.round(waitMs / 1000)} s`
  return [
    'LOGFERRY_UNREACHABLE',
    `the service takes no events now, as it is asked too often: its rate limit is reached (${status} ${reason}). They are ` +
      `kept, and the next request is made in ${wait}. If this lasts, have fewer processes share the limit, or raise it; ` +
      'the option limits keeps to that of the license.',
    'rate limit',
  ]
}

/** Advice for an operator if attempts failed until the deadline. */
export const failureRemedy =
  'Check the network, baseUrl and certificates, and the state of the service, or allow more time (flushTimeoutMs, exitTimeoutMs).'

/** Warns of events that wait only for the request rate. */
export function pacedFor(pending: number, inForce: RateInForce): WarningText {
  const events = pending === 1 ? 'an event waits' : `${pending} events wait`
  return ['LOGFERRY_LIMITS', `${events}, as ${paceReason(inForce)}. ${paceRemedy}`, 'pace']
}

/** Names the rate that holds requests back, and its source: “…, as {reason}.” */
export function paceReason({ requestsPerSecond, because }: RateInForce): string {
  const rate = `${Number(requestsPerSecond.toPrecision(2))} requests per second`
  if (because === 'throttled') return `this process makes ${rate} since the service refused some for their rate (429)`
  if (because === 'headers') return `the service's rate-limit headers allow ${rate}`
  if (because === 'lease') return `this process's share of the license is ${rate}`
  return `the license allows this process ${rate}`
}

export const paceRemedy =
  'Allow more time (flushTimeoutMs, exitTimeoutMs), ship to fewer datasets, have fewer processes share the limit, or raise it.'

/** An answer that pauses a dataset. */
export interface PausedBy {
  readonly dataset: string
  readonly status: number
  readonly reason: string
}

/** Names the answer that holds events back: “…, as {reason}.” */
export function pauseReason({ dataset, status, reason }: PausedBy): string {
  return `the service answers ${status} (${reason}) for dataset ${quoted(dataset)}`
}

export function paused(dataset: string, status: number, reason: string): WarningText {
  return [
    'LOGFERRY_PAUSED',
    `delivery to dataset ${quoted(dataset)} is paused: the service answers ${status} (${reason}). ` +
      `${remedyFor(status)} Events are kept while memory lasts, or the spool, and the service is asked again from time to time.`,
    dataset,
  ]
}

export function rejected(dataset: string, count: number, reason: string): WarningText {
  const events = count === 1 ? 'an event' : `${count} events`
  return [
    'LOGFERRY_REJECTED',
    `the service refused ${events} for dataset ${quoted(dataset)} (${reason}). What it refused is not sent again; ` +
      'the option onRejected gives it to you, and with a spool it is kept there, in rejected.ndjson.',
  ]
}

export function held(dataset: string, reason: string): WarningText {
  return [
    'LOGFERRY_REJECTED',
    `the service refuses an event for dataset ${JSON.stringify(dataset)} (${reason}). As the service has not accepted others ` +
      'of that dataset since, the event may not be the reason: it is kept, and sent again. Check the token, the dataset ' +
      'and what stands between this process and the service, such as a proxy or a firewall.',
    `held ${dataset}`,
  ]
}

export function eventTooLarge(bytes: number): WarningText {
  return [
    'LOGFERRY_REJECTED',
    `the service finds a single event of ${bytes} bytes too large (413); it is dropped. Lower maxEventBytes.`,
  ]
}

export function batchTooLarge(bytes: number, nowAtMost: number): WarningText {
  return [
    'LOGFERRY_STEPPED_DOWN',
    `the service finds a batch of ${bytes} bytes too large (413); batches are sent with at most ${nowAtMost} bytes, and ` +
      'larger ones are tried again from time to time. Set maxBatchBytes to what the service takes.',
  ]
}

export function encodingRefused(refused: string, used: string): WarningText {
  return [
    'LOGFERRY_STEPPED_DOWN',
    `the service refuses bodies compressed with ${refused}; from now on: ${used}. Set compression: '${used}' to spare ` +
      'the attempt.',
  ]
}

export function remedyFor(status: number): string {
  if (status === 401 || status === 403) return 'Check the token, and that it may ingest into this dataset.'
  if (status === 404) return 'Check the dataset name and baseUrl.'
  if (status >= 300 && status < 400 && status !== 304)
    return 'Redirects are not followed: set baseUrl to the final address.'
  if (status === 400 || status === 413 || status === 422)
    return 'It refuses every event: check what stands between, such as a proxy or a firewall, and the form of the events.'
  if (status === 407) return 'Check the credentials of the proxy.'
  return 'Check baseUrl and the options.'
}
