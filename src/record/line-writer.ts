import { isRecord, isValidDate } from './is-plain-data.ts'
import { LearnedName, type Piece } from './learned-names.ts'
import { maxDepth } from './plain.ts'

/** What a name, or a text that was learned, takes at most: the end is looked at only after each member. */
const slackBytes = 512
/** Longer texts are left to `JSON.stringify`, which is faster per character and slower per call. */
const longText = 100
/** Numbers below this with up to three decimals are written as whole thousandths, which then fit in 32 bits. */
const mostInThousandths = 2_000_000

const hasOwn = Object.prototype.hasOwnProperty

/**
 * Writes plain data as the bytes that `JSON.stringify` would make of it, in one pass: whether there is anything that JSON
 * has no words for is found on the way. It takes half the time of looking for that, `JSON.stringify` and writing its text
 * into a buffer, because the names of fields come again and again: they are learned, and guessed one after the other.
 */
export class LineWriter {
  readonly #bytes: Buffer
  readonly #view: DataView
  readonly #limit: number
  readonly #root = new LearnedName(undefined)
  readonly #learned = { count: 0 }
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#limit = bytes.length - slackBytes
  }

  /**
   * Writes an object from `at` on. Says where it ends, or -1 when it is no plain data, or too large for the buffer. Not to be
   * called while it is at work.
   */
  write(event: object, at: number): number {
    this.#at = at
    try {
      return isRecord(event) && this.#writeRecord(event, 0, this.#root) ? this.#at : -1
    } catch {
      return -1 // an accessor or a proxy that throws
    }
  }

  #writeRecord(record: Record<string, unknown>, depth: number, place: LearnedName): boolean {
    if (typeof record.toJSON === 'function') return false
    const start = this.#at
    let last = place.start
    for (const name in record) {
      if (!hasOwn.call(record, name)) return false
      const value = record[name]
      if (value === undefined) continue
      let learned: LearnedName | undefined = last.next
      if (learned.name !== name) {
        learned = place.find(name, this.#learned)
        if (learned !== undefined) last.next = learned
      }
      if (learned === undefined) {
        if (!this.#writeOther(name, value, depth)) return false
        continue
      }
      last = learned
      if (typeof value !== 'string') {
        this.#copy(learned.piece)
        if (!this.#writeValue(value, depth, learned)) return false
      } else if (value === learned.text) {
        this.#copy(learned.withText)
      } else {
        this.#copy(learned.piece)
        if (!this.#writeText(value)) return false
        learned.learn(value)
      }
      if (this.#at > this.#limit) return false
    }
    if (this.#at === start) this.#at++
    this.#bytes[start] = openingBrace // in place of the first comma
    this.#bytes[this.#at++] = closingBrace
    return true
  }

  #writeOther(name: string, value: unknown, depth: number): boolean {
    this.#bytes[this.#at++] = comma
    if (!this.#writeText(name)) return false
    this.#bytes[this.#at++] = colon
    return this.#writeValue(value, depth, unlearned)
  }

  #writeValue(value: unknown, depth: number, place: LearnedName): boolean {
    if (typeof value === 'string') return this.#writeText(value)
    if (typeof value === 'number') return this.#writeNumber(value)
    if (typeof value === 'boolean') return this.#writeAscii(value ? 'true' : 'false')
    if (typeof value !== 'object') return false
    if (value === null) return this.#writeAscii('null')
    if (depth === maxDepth) return false
    if (Array.isArray(value)) return this.#writeArray(value, depth + 1, place)
    if (isRecord(value)) return this.#writeRecord(value, depth + 1, place)
    return isValidDate(value) && this.#writeLongText(value)
  }

  #writeArray(array: readonly unknown[] & { toJSON?: unknown }, depth: number, place: LearnedName): boolean {
    if (array.toJSON !== undefined) return false
    this.#bytes[this.#at++] = openingBracket
    for (let i = 0; i < array.length; i++) {
      if (i > 0) this.#bytes[this.#at++] = comma
      const item = array[i]
      if (!(item === undefined ? this.#writeAscii('null') : this.#writeValue(item, depth, place))) return false
      if (this.#at > this.#limit) return false
    }
    this.#bytes[this.#at++] = closingBracket
    return true
  }

  #copy({ words, length }: Piece): void {
    const view = this.#view
    let at = this.#at
    for (let i = 0; i < words.length; i++, at += 4) view.setInt32(at, words[i] as number, true)
    this.#at += length
  }

  #writeText(text: string): boolean {
    const { length } = text
    if (length > longText) return this.#writeLongText(text)
    let at = this.#at
    if (at + 3 * length > this.#limit) return false
    const bytes = this.#bytes
    bytes[at++] = quote
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i)
      if (unit < 0x80) {
        if (unit < 0x20 || unit === quote || unit === backslash) return this.#writeLongText(text)
        bytes[at++] = unit
      } else if (unit < 0x800) {
        bytes[at++] = 0xc0 | (unit >> 6)
        bytes[at++] = 0x80 | (unit & 0x3f)
      } else if (unit < 0xd800 || unit > 0xdfff) {
        bytes[at++] = 0xe0 | (unit >> 12)
        bytes[at++] = 0x80 | ((unit >> 6) & 0x3f)
        bytes[at++] = 0x80 | (unit & 0x3f)
      } else {
        return this.#writeLongText(text)
      }
    }
    bytes[at++] = quote
    this.#at = at
    return true
  }

  #writeLongText(text: string | Date): boolean {
    if (typeof text === 'string' && this.#at + text.length > this.#limit) return false
    const json = JSON.stringify(text)
    if (this.#at + 3 * json.length > this.#limit) return false
    this.#at += this.#bytes.write(json, this.#at)
    return true
  }

  #writeNumber(value: number): boolean {
    const whole = value | 0
    if (whole === value && whole >= 0) {
      this.#writeDigits(whole)
      return true
    }
    // A number has at most one decimal of 15 digits or fewer, and of the decimals that stand for it JSON has the shortest.
    const thousandths = value > 0 && value < mostInThousandths ? Math.round(value * 1000) : 0
    if (thousandths === 0 || thousandths / 1000 !== value) {
      return this.#writeAscii(Number.isFinite(value) ? String(value) : 'null')
    }
    this.#writeDigits(whole)
    this.#writeDecimals(thousandths - whole * 1000)
    return true
  }

  /** A number from 0 to 2^31 - 1. */
  #writeDigits(value: number): void {
    let count = 1
    for (let limit = 10; count < 10 && value >= limit; limit *= 10) count++
    this.#at += count
    let at = this.#at
    let rest = value | 0
    do {
      const tenth = (rest / 10) | 0
      this.#bytes[--at] = zero + rest - tenth * 10
      rest = tenth
    } while (--count > 0)
  }

  /** From 1 to 999 thousandths, without zeros at the end. */
  #writeDecimals(thousandths: number): void {
    const hundredths = (thousandths / 10) | 0
    const tenths = (hundredths / 10) | 0
    const bytes = this.#bytes
    bytes[this.#at++] = dot
    bytes[this.#at++] = zero + tenths
    if (thousandths === tenths * 100) return
    bytes[this.#at++] = zero + hundredths - tenths * 10
    if (thousandths === hundredths * 10) return
    bytes[this.#at++] = zero + thousandths - hundredths * 10
  }

  #writeAscii(text: string): boolean {
    for (let i = 0; i < text.length; i++) this.#bytes[this.#at++] = text.charCodeAt(i)
    return true
  }
}

/** Stands for every name that was not learned: nothing is learned within it either. */
const unlearned = new (class extends LearnedName {
  override find(): undefined {}
})(undefined)

const openingBrace = 0x7b
const closingBrace = 0x7d
const openingBracket = 0x5b
const closingBracket = 0x5d
const comma = 0x2c
const colon = 0x3a
const quote = 0x22
const backslash = 0x5c
const dot = 0x2e
const zero = 0x30
