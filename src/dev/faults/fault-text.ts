import type { FaultSettings } from '../protocol.ts'
import { bytesOf, millisecondsOf, textOfBytes, textOfMilliseconds } from './units.ts'

/** A fault is not valid. The message says what is expected. */
export class FaultMistake extends Error {}

const kinds = [
  'status',
  'latency',
  'reset',
  'slow-body',
  'max-bytes',
  'refuse-encoding',
  'reject',
  'revoke-token',
] as const satisfies readonly FaultSettings['kind'][]

const defaultSeconds = 30
export const maxSeconds = 600

const maxLatencyMs = 600_000
const maxQueryChars = 4096

/**
 * Reads a fault as `--fault` has it: `status=503,retry-after=2s,for=30s`. The query of `reject` may contain commas, so
 * `reject` comes last.
 *
 * @throws FaultMistake
 */
export function faultOfText(text: string): FaultSettings {
  const fields = new Map<string, string>()
  for (let rest = text.trim(); rest !== ''; ) {
    const [, name = '', value = '', more = ''] = /^([a-z-]+)(?:=([^,]*))?(?:,(.*))?$/s.exec(rest) ?? []
    if (name === '') throw new FaultMistake(`a fault is a list such as status=503,for=30s, not '${text}'`)
    if (fields.has(name)) throw new FaultMistake(`'${name}' may be given once`)
    if (name === 'reject') {
      fields.set(name, rest.slice('reject='.length))
      break
    }
    fields.set(name, value)
    rest = more.trim()
  }
  const given = kinds.filter(kind => fields.has(kind))
  const [kind] = given
  if (kind === undefined || given.length > 1) {
    throw new FaultMistake(`a fault needs exactly one of ${kinds.join(', ')}`)
  }
  const value = fields.get(kind) as string
  const seconds = fields.has('for') ? millisecondsOf(fields.get('for') as string) / 1000 : defaultSeconds
  const settings: FaultSettings = { ...valueOfKind(kind, value), forS: seconds }
  const retryAfter = fields.get('retry-after')
  if (retryAfter !== undefined) settings.retryAfterS = millisecondsOf(retryAfter) / 1000
  const unknown = [...fields.keys()].find(name => name !== kind && name !== 'for' && name !== 'retry-after')
  if (unknown !== undefined)
    throw new FaultMistake(`a fault has no '${unknown}'; use ${kinds.join(', ')}, for, retry-after`)
  return checkedFault(settings)
}

function valueOfKind(kind: FaultSettings['kind'], value: string): Omit<FaultSettings, 'forS'> {
  switch (kind) {
    case 'status':
      return { kind, status: /^\d+$/.test(value) ? Number(value) : Number.NaN }
    case 'latency':
      return { kind, latencyMs: millisecondsOf(value) }
    case 'reset':
      return { kind, moment: `${value === '' ? 'before' : value}-storing` as FaultSettings['moment'] }
    case 'slow-body':
      return { kind, bytesPerSecond: bytesOf(value) }
    case 'max-bytes':
      return { kind, maxBytes: bytesOf(value) }
    case 'refuse-encoding':
      return { kind, encoding: value.toLowerCase() }
    case 'reject':
      return { kind, query: value }
    case 'revoke-token':
      return { kind }
  }
}

/** Returns the fault as an argument of `--fault`. */
export function textOfFault(fault: FaultSettings): string {
  const duration = `for=${textOfMilliseconds(1000 * fault.forS)}`
  switch (fault.kind) {
    case 'status': {
      const wait = fault.retryAfterS === undefined ? '' : `retry-after=${textOfMilliseconds(1000 * fault.retryAfterS)},`
      return `status=${fault.status},${wait}${duration}`
    }
    case 'latency':
      return `latency=${textOfMilliseconds(fault.latencyMs ?? 0)},${duration}`
    case 'reset':
      return `reset=${fault.moment?.replace('-storing', '')},${duration}`
    case 'slow-body':
      return `slow-body=${textOfBytes(fault.bytesPerSecond ?? 0)},${duration}`
    case 'max-bytes':
      return `max-bytes=${textOfBytes(fault.maxBytes ?? 0)},${duration}`
    case 'refuse-encoding':
      return `refuse-encoding=${fault.encoding},${duration}`
    case 'reject':
      return `${duration},reject=${fault.query}`
    case 'revoke-token':
      return `revoke-token,${duration}`
  }
}

/** Returns the settings that the kind of the fault has, and no others. @throws FaultMistake */
export function checkedFault(fault: FaultSettings): FaultSettings {
  const { kind, forS } = fault
  check(kinds.includes(kind), `a fault is one of ${kinds.join(', ')}`)
  check(isIn(forS, 1, maxSeconds), `a fault lasts from 1 to ${maxSeconds} seconds`)
  switch (kind) {
    case 'status': {
      const { status, retryAfterS } = fault
      check(Number.isInteger(status) && isIn(status, 300, 599), 'status must be from 300 to 599')
      if (retryAfterS === undefined) return { kind, status, forS }
      check(isIn(retryAfterS, 0, maxSeconds), `retry-after must be from 0 to ${maxSeconds} seconds`)
      return { kind, status, retryAfterS: Math.ceil(retryAfterS), forS }
    }
    case 'latency':
      check(isIn(fault.latencyMs, 1, maxLatencyMs), 'latency must be a time from 1ms to 10m')
      return { kind, latencyMs: fault.latencyMs, forS }
    case 'reset':
      check(
        fault.moment === 'before-storing' || fault.moment === 'after-storing',
        'reset must be before or after: the moment when the events are stored',
      )
      return { kind, moment: fault.moment, forS }
    case 'slow-body':
      check(isIn(fault.bytesPerSecond, 1, 1e9), 'slow-body must be a number of bytes per second, from 1')
      return { kind, bytesPerSecond: fault.bytesPerSecond, forS }
    case 'max-bytes':
      check(isIn(fault.maxBytes, 0, Number.MAX_SAFE_INTEGER), 'max-bytes must be a size, such as 1MB')
      return { kind, maxBytes: fault.maxBytes, forS }
    case 'refuse-encoding':
      check(/^[a-z]{1,20}$/.test(fault.encoding ?? ''), 'refuse-encoding must be an encoding, such as zstd')
      return { kind, encoding: fault.encoding, forS }
    case 'reject':
      check((fault.query ?? '') !== '', 'reject must be a query, such as reject=level:debug')
      check((fault.query ?? '').length <= maxQueryChars, `the query of reject may have ${maxQueryChars} characters`)
      return { kind, query: fault.query, forS }
    case 'revoke-token':
      return { kind, forS }
  }
}

function check(isRight: boolean, message: string): void {
  if (!isRight) throw new FaultMistake(message)
}

function isIn(value: number | undefined, min: number, max: number): boolean {
  return value !== undefined && value >= min && value <= max
}
