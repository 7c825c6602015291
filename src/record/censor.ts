import type { ResolvedCensor } from '../options/resolve-redact.ts'
import { kindOfValue } from '../text/kind-of-value.ts'
import { monotonicMs } from '../time.ts'
import { charactersLeft } from './is-plain-data.ts'
import type { Plain } from './plain.ts'
import { handleRejection } from './unheard-rejection.ts'

/** Number of hexadecimal digits of a hash: 128 bits, so that equal hashes mean equal values. */
const hashDigits = 32

/** Maximum number of replacements of one event that are hashed, or made by a function of the application. */
const maxCalls = 5000
/** Maximum time for them, in milliseconds. */
const maxMs = 30
/** Maximum time that counts for one of them: a pause of the runtime says nothing about the others. */
const maxMsOfCall = 10
/** Maximum characters of the values of an event that are hashed, or passed to a function of the application. */
const maxCharacters = 4_194_304
/** Replaces the values beyond these limits. A log call must end soon, and a value must not escape. */
const spentText = '[redacted]'

/** Makes the replacement of a value that is redacted. */
export class Censor {
  /** The replacement, if it is the same for every value. */
  readonly text: string | undefined
  readonly isRemoval: boolean
  /** True if a value may be removed: because each is, or because a function of the application may say so. */
  readonly mayRemove: boolean
  readonly #isCostly: boolean
  #calls = 0
  #spentMs = 0
  #charactersLeft = maxCharacters
  readonly #of: (value: Plain, path: string) => unknown
  readonly #hash: ((text: string) => string) | undefined

  constructor(censor: ResolvedCensor) {
    this.text = censor.kind === 'text' ? censor.text : undefined
    this.isRemoval = censor.kind === 'remove'
    this.mayRemove = this.isRemoval || censor.kind === 'function'
    this.#isCostly = censor.kind === 'hash' || censor.kind === 'function'
    const hash = censor.kind === 'hash' ? hashWith(censor.key) : undefined
    this.#hash = hash
    this.#of =
      censor.kind === 'function'
        ? (value, path) => censor.of(withPrototypes(value), path)
        : value => hash?.(asText(value))
  }

  /** Begins an event. */
  begin(): void {
    this.#calls = 0
    this.#spentMs = 0
    this.#charactersLeft = maxCharacters
  }

  /**
   * Returns the replacement of plain data. `undefined` removes the value.
   *
   * @throws whatever the function of the application throws; TypeError if the function returns something else than a
   * text, a number, a boolean, `null` or `undefined`
   */
  of(value: Plain, path: string): string | number | boolean | null | undefined {
    if (!this.#isCostly) return this.text
    if (++this.#calls > maxCalls || this.#spentMs > maxMs) return spentText
    const startedAtMs = monotonicMs()
    const replacement = this.#takes(value) ? this.#of(value, path) : spentText
    this.#spentMs += Math.min(monotonicMs() - startedAtMs, maxMsOfCall)
    switch (typeof replacement) {
      case 'string':
      case 'boolean':
      case 'undefined':
        return replacement
      case 'number':
        return Number.isFinite(replacement) ? replacement : null
      default:
        if (replacement === null) return null
        handleRejection(replacement)
        throw new NoCensorResult(kindOfValue(replacement))
    }
  }

  /** Returns the replacement of a part of a text. */
  ofMatch(match: string, path: string): string {
    const replacement = this.of(match, path)
    return replacement === undefined || replacement === null ? '' : String(replacement)
  }

  /**
   * Returns the replacement of a text, a number, a boolean or `null`, if the replacement is a text and does not depend
   * on the path. Returns `undefined` otherwise, and for objects, which must become plain data first.
   */
  atOnce(value: unknown): string | undefined {
    if (this.text !== undefined) return this.text
    if (this.#hash === undefined || (typeof value === 'object' && value !== null)) return undefined
    if (typeof value === 'number' && !Number.isFinite(value)) return undefined
    if (typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint') return undefined
    return this.#takes(value as Plain) ? this.#hash(asText(value as Plain)) : undefined
  }

  /** Reduces the number of characters left by those of a value. Returns false, and reduces nothing, if the value has more. */
  #takes(value: Plain): boolean {
    let left = this.#charactersLeft
    if (typeof value === 'object' && value !== null) left = charactersLeft(value, left)
    else if (typeof value === 'string') left -= value.length
    if (left < 0) return false
    this.#charactersLeft = left
    return true
  }
}

/** Thrown if the function of the application returns something that cannot be shipped as it is. */
export class NoCensorResult extends TypeError {
  readonly #got: string

  constructor(got: string) {
    super(`the censor function returned ${got}`)
    this.#got = got
  }

  /** Returns the kind of the result, or `undefined` if another value was thrown. Reads nothing of that value. */
  static gotBy(thrown: unknown): string | undefined {
    return typeof thrown === 'object' && thrown !== null && #got in thrown ? thrown.#got : undefined
  }
}

/** Plain data has objects without a prototype, of which `String(value)` throws. */
function withPrototypes(value: Plain): unknown {
  return typeof value === 'object' && value !== null ? JSON.parse(JSON.stringify(value)) : value
}

function asText(value: Plain): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function hashWith(key: string | Uint8Array): (text: string) => string {
  const { createHmac } = process.getBuiltinModule('node:crypto') // takes milliseconds to load, so only if it is used
  return text => `hash:${createHmac('sha256', key).update(text).digest('hex').slice(0, hashDigits)}`
}
