import { jsonBytes, mostJsonBytes } from './json-text.ts'
import type { Plain } from './plain.ts'

/** Texts are measured until they have so many characters in all; a million takes 0.6 ms. Short ones always are. */
const charactersToMeasure = 16_000_000
const shortText = 256
/** Smaller containers are measured again as fast as they would be looked up. */
const leastRemembered = 256

/** Sizes of plain values as JSON in UTF-8, in bytes. Those of large containers are remembered. */
export class JsonSizes {
  /** Whether each size given so far was measured. If not, some are the most that texts of that length can take. */
  areExact = true
  #measured = 0
  readonly #containers = new Map<object, number>()

  of(value: Plain): number {
    if (typeof value === 'string') return this.#text(value)
    if (typeof value !== 'object' || value === null) return String(value).length
    let size = this.#containers.get(value)
    if (size === undefined) {
      size = this.#container(value)
      if (size >= leastRemembered) this.#containers.set(value, size)
    }
    return size
  }

  #text(text: string): number {
    this.#measured += text.length
    if (this.#measured <= charactersToMeasure || text.length <= shortText) return jsonBytes(text)
    this.areExact = false
    return mostJsonBytes(text)
  }

  #container(value: Plain[] | Record<string, Plain>): number {
    let size = 1 // each member ends with a comma or the closing bracket
    if (Array.isArray(value)) for (const item of value) size += this.of(item) + 1
    else for (const name of Object.keys(value)) size += this.of(name) + this.of(value[name] as Plain) + 2
    return Math.max(size, 2)
  }
}
