import { jsonBytes, maxJsonBytes, pieceEnd } from './json-text.ts'
import type { Plain } from './plain.ts'

/** Maximum effort for measuring texts, in characters of plain ASCII. A million characters take 0.6 ms. */
const maxEffort = 8_000_000
/** Effort for each additional byte of a character that JSON or UTF-8 write longer, in characters of plain ASCII. */
const effortPerByte = 4

/** Minimum size that is remembered, in bytes. Smaller containers are measured again as fast as they are looked up. */
const minRemembered = 256

/** Sizes of plain values as JSON in UTF-8, in bytes. Sizes of large containers are remembered. */
export class JsonSizes {
  /** True while every size returned was measured. If false, some sizes are the maximum for texts of their length. */
  areExact = true
  #effort = maxEffort
  readonly #containers = new Map<object, number>()

  of(value: Plain): number {
    if (typeof value === 'string') return this.#text(value)
    if (typeof value !== 'object' || value === null) return String(value).length
    let size = this.#containers.get(value)
    if (size === undefined) {
      size = this.#container(value)
      if (size >= minRemembered) this.#containers.set(value, size)
    }
    return size
  }

  #text(text: string): number {
    let bytes = '""'.length
    for (let start = 0; start < text.length; ) {
      if (this.#effort <= 0) {
        this.areExact = false
        return bytes + maxJsonBytes(text.length - start)
      }
      const end = pieceEnd(text, start)
      const more = jsonBytes(start === 0 && end === text.length ? text : text.slice(start, end)) - '""'.length
      this.#effort -= end - start + (more - (end - start)) * effortPerByte
      bytes += more
      start = end
    }
    return bytes
  }

  #container(value: Plain[] | Record<string, Plain>): number {
    let size = 1 // each member ends with a comma or the closing bracket
    if (Array.isArray(value)) for (const item of value) size += this.of(item) + 1
    else for (const name of Object.keys(value)) size += this.of(name) + this.of(value[name] as Plain) + 2
    return Math.max(size, 2)
  }
}
