import type { DropReason } from '../accounting/drop-reasons.ts'
import type { Loss } from '../batch/acknowledgements.ts'
import type { ErrorCode } from '../errors.ts'
import { milliseconds } from '../text/milliseconds.ts'

/** The properties of a `NotConfirmedError`, besides its message. */
interface NotConfirmed {
  readonly code: Extract<ErrorCode, 'LOGFERRY_REJECTED' | 'LOGFERRY_DROPPED' | 'LOGFERRY_TIMEOUT' | 'LOGFERRY_SPOOL'>
  readonly dropReason?: DropReason | undefined
  readonly status?: number | undefined
  readonly serviceReason?: string | undefined
}

/** The error of `shipAndConfirm` for an event that the service is not known to have taken. */
export class NotConfirmedError extends Error {
  override readonly name = 'NotConfirmedError'
  /**
   * - `LOGFERRY_REJECTED`: the service refused the event. Without a `dropReason`, it refused events of the same batch
   *   without naming them, and this event may be one of them.
   * - `LOGFERRY_DROPPED`: the event was dropped for another reason. Without a `dropReason`, events of the spool could not be
   *   read, and this event may be one of them.
   * - `LOGFERRY_TIMEOUT`: the event was neither taken nor refused within the time. It stays pending, and may still be delivered.
   * - `LOGFERRY_SPOOL`: the event is in the spool, and another process delivers it.
   */
  readonly code: NotConfirmed['code']
  /** Reason for which the event was dropped; `undefined` if the event may still be delivered, or may have been. */
  readonly dropReason: DropReason | undefined
  /** HTTP status of the answer that refused the event; 200 if the service stored other events of the batch. */
  readonly status: number | undefined
  /** The service's reason for the refusal, in its own words. */
  readonly serviceReason: string | undefined

  /** @internal */
  constructor(message: string, { code, dropReason, status, serviceReason }: NotConfirmed) {
    super(`logferry: ${message}`)
    this.code = code
    this.dropReason = dropReason
    this.status = status
    this.serviceReason = serviceReason
  }
}

/** Creates the error for an event that was dropped inside its log call. */
export function droppedAtOnce(dropReason: DropReason): NotConfirmedError {
  return new NotConfirmedError(`the event was dropped (${dropReason}); see shipper.stats().drops`, {
    code: 'LOGFERRY_DROPPED',
    dropReason,
  })
}

/**
 * Creates the error for an event that the service has not taken in time.
 *
 * @param why the reason as a clause, or an empty text if no reason is known
 */
export function notInTime(timeoutMs: number, why: string): NotConfirmedError {
  const message = `the event was not confirmed within ${milliseconds(timeoutMs)}${why}; it is kept, and may still be delivered`
  return new NotConfirmedError(message, { code: 'LOGFERRY_TIMEOUT' })
}

/** Creates the error for an event that was lost after its log call, or may have been. */
export function lostLater({ reason, status, serviceReason }: Loss): NotConfirmedError {
  if (reason === 'handed-off') {
    const message = 'the event was handed off to the spool; the next process that uses the spool delivers it'
    return new NotConfirmedError(message, { code: 'LOGFERRY_SPOOL' })
  }
  const words = `${status} ${serviceReason}`
  if (reason === 'unidentified' && status === undefined) {
    const message = 'events of the spool could not be read, and this event may be one of them; the others are delivered'
    return new NotConfirmedError(message, { code: 'LOGFERRY_DROPPED' })
  }
  if (reason === 'unidentified') {
    const message = `the service refused events without naming them, and this event may be one of them (${words})`
    return new NotConfirmedError(message, { code: 'LOGFERRY_REJECTED', status, serviceReason })
  }
  if (status === undefined) return droppedAtOnce(reason)
  const properties = { code: 'LOGFERRY_REJECTED', dropReason: reason, status, serviceReason } as const
  return new NotConfirmedError(`the service refused the event (${words})`, properties)
}
