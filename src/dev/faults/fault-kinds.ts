import { contentEncodings } from '../../emulator/body.ts'
import type { EventPredicate } from '../../emulator/fault-plan.ts'
import type { Faults } from '../../emulator/faults.ts'
import type { FaultKind, FaultSettings } from '../protocol.ts'
import { FaultMistake } from './fault-mistake.ts'
import { bytesOf, millisecondsOf, textOfBytes, textOfMilliseconds } from './units.ts'

/** The settings that only some kinds have. */
type OwnSettings = Omit<FaultSettings, 'kind' | 'forS'>

/** The service on which a fault is made. */
export interface FaultTarget {
  readonly faults: Faults
  /** The test of the events that match the query of the fault. */
  readonly predicate: EventPredicate | undefined
  revokeToken(): void
}

/** All that is known of one kind of fault. */
export interface FaultForm {
  /** Reads the value in `--fault`: the text between the name of the kind and the next comma. */
  read(value: string): OwnSettings
  /** Returns the part of `--fault` that says what the fault is. */
  text(settings: OwnSettings): string
  /**
   * Returns the settings that the kind has, and no others.
   *
   * @throws FaultMistake
   */
  check(settings: OwnSettings): OwnSettings
  /** Makes the fault. The settings are checked. */
  make(settings: OwnSettings, target: FaultTarget): void
}

/** Maximum duration of a fault, and of the wait that it asks for, in seconds. */
export const maxSeconds = 600
const maxLatencyMs = 600_000
const maxQueryChars = 4096

/** Every kind of fault. */
export const faultForms: Readonly<Record<FaultKind, FaultForm>> = {
  status: {
    read: value => ({ status: /^\d+$/.test(value) ? Number(value) : Number.NaN }),
    text: ({ status, retryAfterS }) => {
      return `status=${status}${retryAfterS === undefined ? '' : `,retry-after=${textOfMilliseconds(1000 * retryAfterS)}`}`
    },
    check: ({ status, retryAfterS }) => {
      check(Number.isInteger(status) && isIn(status, 300, 599), 'status must be from 300 to 599')
      if (retryAfterS === undefined) return { status }
      check(isIn(retryAfterS, 0, maxSeconds), `retry-after must be from 0 to ${maxSeconds} seconds`)
      return { status, retryAfterS: Math.ceil(retryAfterS) }
    },
    make: ({ status, retryAfterS }, { faults }) => {
      const headers = retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) }
      const body = { code: 'fault', message: `a fault of logferry dev answers ${status}` }
      faults.answerNext(Number.POSITIVE_INFINITY, { status: status as number, headers, body })
    },
  },
  latency: {
    read: value => ({ latencyMs: millisecondsOf(value) }),
    text: ({ latencyMs = 0 }) => `latency=${textOfMilliseconds(latencyMs)}`,
    check: ({ latencyMs }) => {
      check(isIn(latencyMs, 1, maxLatencyMs), 'latency must be a time from 1ms to 10m')
      return { latencyMs }
    },
    make: ({ latencyMs }, { faults }) => {
      faults.latencyMs = latencyMs as number
    },
  },
  reset: {
    read: value => ({ moment: `${value === '' ? 'before' : value}-storing` as FaultSettings['moment'] }),
    text: ({ moment }) => `reset=${moment?.replace('-storing', '')}`,
    check: ({ moment }) => {
      const expected = 'reset must be before or after: the moment when the events are stored'
      check(moment === 'before-storing' || moment === 'after-storing', expected)
      return { moment }
    },
    make: ({ moment = 'before-storing' }, { faults }) => faults.resetNext(Number.POSITIVE_INFINITY, moment),
  },
  'slow-body': {
    read: value => ({ bytesPerSecond: bytesOf(value) }),
    text: ({ bytesPerSecond = 0 }) => `slow-body=${textOfBytes(bytesPerSecond)}`,
    check: ({ bytesPerSecond }) => {
      check(isIn(bytesPerSecond, 1, 1e9), 'slow-body must be a number of bytes per second, from 1')
      return { bytesPerSecond }
    },
    make: ({ bytesPerSecond }, { faults }) => faults.slowBody({ bytesPerSecond: bytesPerSecond as number }),
  },
  'max-bytes': {
    read: value => ({ maxBytes: bytesOf(value) }),
    text: ({ maxBytes = 0 }) => `max-bytes=${textOfBytes(maxBytes)}`,
    check: ({ maxBytes }) => {
      check(isIn(maxBytes, 0, Number.MAX_SAFE_INTEGER), 'max-bytes must be a size, such as 1MB')
      return { maxBytes }
    },
    make: ({ maxBytes }, { faults }) => faults.maxBytes(maxBytes as number),
  },
  'refuse-encoding': {
    read: value => ({ encoding: value.toLowerCase() }),
    text: ({ encoding }) => `refuse-encoding=${encoding}`,
    check: ({ encoding = '' }) => {
      check(contentEncodings.includes(encoding), `refuse-encoding must be one of ${contentEncodings.join(', ')}`)
      return { encoding }
    },
    make: ({ encoding }, { faults }) => faults.refuseEncodings([encoding as string]),
  },
  reject: {
    read: value => ({ query: value }),
    text: ({ query }) => `reject=${query}`,
    check: ({ query = '' }) => {
      check(query !== '', 'reject must be a query, such as reject=level:debug')
      check(query.length <= maxQueryChars, `the query of reject may have ${maxQueryChars} characters`)
      return { query }
    },
    make: (_, { faults, predicate }) => {
      faults.rejectEvents(predicate as EventPredicate, 'a fault rejects the events that match its query')
    },
  },
  'revoke-token': {
    read: () => ({}),
    text: () => 'revoke-token',
    check: () => ({}),
    make: (_, target) => target.revokeToken(),
  },
}

/** @throws FaultMistake if something is not right */
export function check(isRight: boolean, message: string): void {
  if (!isRight) throw new FaultMistake(message)
}

export function isIn(value: number | undefined, min: number, max: number): boolean {
  return value !== undefined && value >= min && value <= max
}
