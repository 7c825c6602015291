import { firstEscape, isEscaped } from './escapes.ts'
import { isRecord, isValidDate } from './is-plain-data.ts'
import { LearnedName, type Piece } from './learned-names.ts'
import { maxDepth } from './plain.ts'

/** Lines up to nearly so many bytes need no larger buffer; one that is larger than that is not kept for the next line. */
const usualBytes = 65_536
const mostKeptBytes = 1_100_000
const growth = 4
/** What one name and a short text or a number take at most: whether there is room is asked after each member. */
const slackBytes = 1024
/** Texts up to this length are looked at one unit after the other. */
const shortText = 100
/** Numbers below this with up to three decimals are written as whole thousandths, which then fit in 32 bits. */
const mostInThousandths = 2_000_000

const hasOwn = Object.prototype.hasOwnProperty

/**
 * Writes lines: what stands before an object's members (`{"_time":"…"`), the object, what stands after them.
 *
 * Objects of plain data are written as the bytes that `JSON.stringify` would make of them, in one pass: whether there is
 * anything that JSON has no words for is found on the way. That takes half the time of looking for it, of `JSON.stringify`
 * and of writing its text into a buffer, because the names of fields come again and again: they are learned, and guessed one
 * after the other.
 */
export class LineWriter {
  /** Has the line, once it has ended, until the next one begins. */
  bytes: Buffer
  #view: DataView
  /** From here on there is no room for another member, and no line may be longer than that. */
  #limit: number
  #mostEnd = 0
  #start = 0
  #at = 0
  readonly #root = new LearnedName(undefined)
  readonly #learned = { count: 0 }

  constructor() {
    this.bytes = Buffer.allocUnsafeSlow(usualBytes)
    this.#view = viewOf(this.bytes)
    this.#limit = usualBytes - slackBytes
  }

  /** Begins a line with an object whose first members are given, without its closing brace; says how long that is. */
  begin(head: Uint8Array | undefined): number {
    if (this.bytes.length > mostKeptBytes) this.#replace(Buffer.allocUnsafeSlow(usualBytes))
    this.#start = head?.length ?? 0
    if (head !== undefined) this.bytes.set(head)
    return this.#start
  }

  /** Writes an object. `false` when it is no plain data, or takes more than `mostBytes`. Not to be called by its accessors. */
  write(event: object, mostBytes: number): boolean {
    this.#at = this.#start
    this.#mostEnd = this.#start + mostBytes
    try {
      return isRecord(event) && this.#writeRecord(event, 0, this.#root) && this.#at <= this.#mostEnd
    } catch {
      return false // an accessor or a proxy that throws
    }
  }

  /** Writes an object of which the JSON is there. `false` when it takes more than `mostBytes`. */
  writeJson(json: string, mostBytes: number): boolean {
    this.#at = this.#start
    this.#mostEnd = this.#start + mostBytes
    return this.#writeAll(json) && this.#at <= this.#mostEnd
  }

  /** Ends the line with other members of the object and its closing brace, where there are any; says how long it is. */
  end(tail: Uint8Array | undefined): number {
    const start = this.#start
    let end = this.#at
    if (start > 0) {
      const isEmpty = end - start === emptyObjectBytes
      this.bytes[start] = isEmpty ? closingBrace : comma
      if (isEmpty) end = start + 1
    }
    if (tail === undefined) return end
    this.#at = end
    if (end + tail.length > this.bytes.length) this.#replace(Buffer.allocUnsafeSlow(end + tail.length + slackBytes))
    const rest = end === emptyObjectBytes && tail.length > 1 ? tail.subarray(1) : tail // there is nothing before its comma
    this.bytes.set(rest, end - 1)
    return end - 1 + rest.length
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
        if (!this.#writeUnlearned(name, value, depth)) return false
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
      if (this.#at > this.#limit && !this.#grow(this.#at)) return false
    }
    if (this.#at === start) this.#at++
    this.bytes[start] = openingBrace // in place of the first comma
    this.bytes[this.#at++] = closingBrace
    return true
  }

  #writeUnlearned(name: string, value: unknown, depth: number): boolean {
    this.bytes[this.#at++] = comma
    if (!this.#writeText(name)) return false
    this.bytes[this.#at++] = colon
    if (!this.#writeValue(value, depth, unlearned)) return false
    return this.#at <= this.#limit || this.#grow(this.#at)
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
    return isValidDate(value) && this.#writeAll(JSON.stringify(value))
  }

  #writeArray(array: readonly unknown[] & { toJSON?: unknown }, depth: number, place: LearnedName): boolean {
    if (array.toJSON !== undefined) return false
    this.bytes[this.#at++] = openingBracket
    for (let i = 0; i < array.length; i++) {
      if (i > 0) this.bytes[this.#at++] = comma
      const item = array[i]
      if (!(item === undefined ? this.#writeAscii('null') : this.#writeValue(item, depth, place))) return false
      if (this.#at > this.#limit && !this.#grow(this.#at)) return false
    }
    this.bytes[this.#at++] = closingBracket
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
    if (length > shortText) return this.#writeLongText(text)
    const { bytes } = this
    let at = this.#at
    bytes[at++] = quote
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i)
      if (unit < 0x80) {
        if (isEscaped(unit)) return this.#writeAll(JSON.stringify(text))
        bytes[at++] = unit
      } else if (unit < 0x800) {
        bytes[at++] = 0xc0 | (unit >> 6)
        bytes[at++] = 0x80 | (unit & 0x3f)
      } else if (unit < 0xd800 || unit > 0xdfff) {
        bytes[at++] = 0xe0 | (unit >> 12)
        bytes[at++] = 0x80 | ((unit >> 6) & 0x3f)
        bytes[at++] = 0x80 | (unit & 0x3f)
      } else {
        return this.#writeAll(JSON.stringify(text))
      }
    }
    bytes[at++] = quote
    this.#at = at
    return true
  }

  /** Natively, in the hope that nothing in it has to be escaped; that is looked for in its bytes. */
  #writeLongText(text: string): boolean {
    if (!this.#hasRoomFor(text)) return false
    if (!text.isWellFormed()) return this.#writeAll(JSON.stringify(text))
    const { bytes } = this
    const start = this.#at + 1
    const end = start + bytes.write(text, start)
    if (firstEscape(this.#view, start, end) >= 0) return this.#writeAll(JSON.stringify(text))
    bytes[this.#at] = quote
    bytes[end] = quote
    this.#at = end + 1
    return true
  }

  #writeAll(json: string): boolean {
    if (!this.#hasRoomFor(json)) return false
    this.#at += this.bytes.write(json, this.#at)
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
      this.bytes[--at] = zero + rest - tenth * 10
      rest = tenth
    } while (--count > 0)
  }

  /** From 1 to 999 thousandths, without zeros at the end. */
  #writeDecimals(thousandths: number): void {
    const hundredths = (thousandths / 10) | 0
    const tenths = (hundredths / 10) | 0
    const { bytes } = this
    bytes[this.#at++] = dot
    bytes[this.#at++] = zero + tenths
    if (thousandths === tenths * 100) return
    bytes[this.#at++] = zero + hundredths - tenths * 10
    if (thousandths === hundredths * 10) return
    bytes[this.#at++] = zero + thousandths - hundredths * 10
  }

  #writeAscii(text: string): boolean {
    for (let i = 0; i < text.length; i++) this.bytes[this.#at++] = text.charCodeAt(i)
    return true
  }

  /** Counting bytes is worth it only near the limit: a UTF-16 unit never takes more than three. */
  #hasRoomFor(text: string): boolean {
    if (this.#at + 3 * text.length <= this.#limit) return true
    const end = this.#at + Buffer.byteLength(text)
    return end <= this.#limit || this.#grow(end)
  }

  #grow(neededBytes: number): boolean {
    if (neededBytes > this.#mostEnd) return false
    const bytes = Math.min(Math.max(neededBytes, this.bytes.length * growth), this.#mostEnd)
    this.#replace(Buffer.allocUnsafeSlow(bytes + slackBytes))
    return true
  }

  #replace(bytes: Buffer): void {
    this.bytes.copy(bytes, 0, 0, this.#at)
    this.bytes = bytes
    this.#view = viewOf(bytes)
    this.#limit = bytes.length - slackBytes
  }
}

function viewOf({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length)
}

/** Stands for every name that was not learned: nothing is learned within it either. */
const unlearned = new (class extends LearnedName {
  override find(): undefined {}
})(undefined)

/** `{}` */
const emptyObjectBytes = 2
const openingBrace = 0x7b
const closingBrace = 0x7d
const openingBracket = 0x5b
const closingBracket = 0x5d
const comma = 0x2c
const colon = 0x3a
const quote = 0x22
const dot = 0x2e
const zero = 0x30
