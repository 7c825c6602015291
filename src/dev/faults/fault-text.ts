import { type FaultSettings, faultKinds } from '../protocol.ts'
import { check, faultForms, isIn, maxSeconds } from './fault-kinds.ts'
import { FaultMistake } from './fault-mistake.ts'
import { millisecondsOf, textOfMilliseconds } from './units.ts'

const defaultSeconds = 30

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
  const given = faultKinds.filter(kind => fields.has(kind))
  const [kind] = given
  if (kind === undefined || given.length > 1) {
    throw new FaultMistake(`a fault needs exactly one of ${faultKinds.join(', ')}`)
  }
  const value = fields.get(kind) as string
  const seconds = fields.has('for') ? millisecondsOf(fields.get('for') as string) / 1000 : defaultSeconds
  const settings: FaultSettings = { kind, ...faultForms[kind].read(value), forS: seconds }
  const retryAfter = fields.get('retry-after')
  if (retryAfter !== undefined) settings.retryAfterS = millisecondsOf(retryAfter) / 1000
  const unknown = [...fields.keys()].find(name => name !== kind && name !== 'for' && name !== 'retry-after')
  if (unknown !== undefined)
    throw new FaultMistake(`a fault has no '${unknown}'; use ${faultKinds.join(', ')}, for, retry-after`)
  return checkedFault(settings)
}

/** Returns the fault as an argument of `--fault`. */
export function textOfFault(fault: FaultSettings): string {
  const parts = [faultForms[fault.kind].text(fault), `for=${textOfMilliseconds(1000 * fault.forS)}`]
  return (fault.kind === 'reject' ? parts.reverse() : parts).join(',')
}

/**
 * Returns the settings that the kind of the fault has, and no others.
 *
 * @throws FaultMistake
 */
export function checkedFault(fault: FaultSettings): FaultSettings {
  const { kind, forS } = fault
  check(faultKinds.includes(kind), `a fault is one of ${faultKinds.join(', ')}`)
  check(isIn(forS, 1, maxSeconds), `a fault lasts from 1 to ${maxSeconds} seconds`)
  return { kind, ...faultForms[kind].check(fault), forS }
}
