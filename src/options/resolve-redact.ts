import { isRegExp, isUint8Array } from 'node:util/types'
import { invalidOption } from '../errors.ts'
import { ownProperties } from '../own-properties.ts'
import { described, kindOf } from './described.ts'
import type { CensorFunction, RedactOptions } from './redact-options.ts'
import { maxPathLength, parseRedactPath, type RedactPath } from './redact-path.ts'
import { unknownOption } from './unknown-option.ts'

/** The options `redact` and `redactText` as the core uses them. */
export interface ResolvedRedact {
  readonly paths: readonly RedactPath[]
  readonly ignoreCase: boolean
  readonly censor: ResolvedCensor
  /** Copies of the given patterns, so that the application does not share their `lastIndex`. */
  readonly texts: readonly RegExp[]
}

export type ResolvedCensor =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'remove' }
  | { readonly kind: 'hash'; readonly key: string | Uint8Array }
  | { readonly kind: 'function'; readonly of: CensorFunction }

const maxPaths = 200
const maxTexts = 100
const maxCensorLength = 100
const minKeyBytes = 16

const expectedRedact = 'an array of paths, or an object: { paths, censor, hashKey, ignoreCase }'
const expectedCensor = `'remove', 'hash', a text of at most ${maxCensorLength} characters, or a function`
const expectedKey = `a key of at least ${minKeyBytes} bytes for censor: 'hash', as a text or a Uint8Array`
const expectedTexts = `an array of at most ${maxTexts} regular expressions with the flag g`
const names = ['paths', 'censor', 'hashKey', 'ignoreCase'] as const

/**
 * Checks `redact` and `redactText`. Returns `undefined` if neither names anything to redact.
 *
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION`, without the value: a key is secret, and a path
 * may be a misplaced one
 */
export function resolveRedact(redact: unknown, redactText: unknown): ResolvedRedact | undefined {
  const { paths, censor, hashKey, ignoreCase } = longForm(redact)
  const resolved: ResolvedRedact = {
    paths: resolvePaths(paths, Array.isArray(redact) ? 'redact' : 'redact.paths'),
    ignoreCase: resolveIgnoreCase(ignoreCase),
    censor: resolveCensor(censor, hashKey),
    texts: resolveTexts(redactText),
  }
  return resolved.paths.length + resolved.texts.length === 0 ? undefined : resolved
}

function longForm(redact: unknown): { readonly [Name in keyof RedactOptions]: unknown } {
  if (redact === undefined) return ownProperties({ paths: [] })
  if (Array.isArray(redact)) return ownProperties({ paths: redact })
  if (typeof redact !== 'object' || redact === null) throw invalidOption('redact', expectedRedact, kindOf(redact))
  const own = ownProperties(redact)
  const unknown = Object.keys(own).find(name => !(names as readonly string[]).includes(name))
  if (unknown !== undefined) throw unknownOption(unknown, names, 'redact')
  return own as RedactOptions
}

function resolvePaths(paths: unknown, option: string): RedactPath[] {
  if (!Array.isArray(paths))
    throw invalidOption(option, 'an array of paths', paths === undefined ? 'nothing' : kindOf(paths))
  if (paths.length > maxPaths) {
    throw invalidOption(option, `an array of at most ${maxPaths} paths`, `${paths.length} paths`, 'range')
  }
  return Array.from(paths, (path: unknown, i) => {
    const expected = `a path such as 'password', 'user.email', 'items[*].card' or '**.token'`
    if (typeof path !== 'string') throw invalidOption(`${option}[${i}]`, expected, kindOf(path))
    if (path.length > maxPathLength) {
      throw invalidOption(
        `${option}[${i}]`,
        `${expected}, of at most ${maxPathLength} characters`,
        kindOf(path),
        'range',
      )
    }
    const parsed = parseRedactPath(path)
    if (typeof parsed === 'object') return parsed
    throw invalidOption(`${option}[${i}]`, `${expected}, without ${parsed}`, kindOf(path), 'range')
  })
}

function resolveIgnoreCase(ignoreCase: unknown = false): boolean {
  if (typeof ignoreCase === 'boolean') return ignoreCase
  throw invalidOption('redact.ignoreCase', 'true or false', kindOf(ignoreCase))
}

function resolveCensor(censor: unknown = '[redacted]', hashKey: unknown): ResolvedCensor {
  if (typeof censor !== 'string' && typeof censor !== 'function') {
    throw invalidOption('redact.censor', expectedCensor, described(censor))
  }
  if (censor === 'hash') return { kind: 'hash', key: resolveKey(hashKey) }
  if (hashKey !== undefined) throw invalidOption('redact.hashKey', "left out unless redact.censor is 'hash'", 'a key')
  if (typeof censor === 'function') return { kind: 'function', of: censor as CensorFunction }
  if (censor === 'remove') return { kind: 'remove' }
  if (censor.length > maxCensorLength) throw invalidOption('redact.censor', expectedCensor, kindOf(censor), 'range')
  return { kind: 'text', text: censor }
}

function resolveKey(key: unknown): string | Uint8Array {
  if (key === undefined) throw invalidOption('redact.hashKey', expectedKey, 'nothing')
  if (typeof key !== 'string' && !isUint8Array(key)) throw invalidOption('redact.hashKey', expectedKey, kindOf(key))
  if (Buffer.byteLength(key) < minKeyBytes) throw invalidOption('redact.hashKey', expectedKey, 'a shorter one', 'range')
  return typeof key === 'string' ? key : Uint8Array.from(key)
}

function resolveTexts(texts: unknown = []): RegExp[] {
  if (!Array.isArray(texts)) throw invalidOption('redactText', expectedTexts, kindOf(texts))
  if (texts.length > maxTexts) throw invalidOption('redactText', expectedTexts, `${texts.length} of them`, 'range')
  return Array.from(texts, (pattern: unknown, i) => {
    const option = `redactText[${i}]`
    if (!isRegExp(pattern)) throw invalidOption(option, 'a regular expression with the flag g', kindOf(pattern))
    const { source, flags } = pattern
    if (!flags.includes('g')) {
      throw invalidOption(
        option,
        'a regular expression with the flag g, which masks every match',
        'one without',
        'range',
      )
    }
    if (flags.includes('y')) {
      throw invalidOption(
        option,
        'a regular expression without the flag y, which stops at the first miss',
        'one with it',
        'range',
      )
    }
    return new RegExp(source, flags)
  })
}
