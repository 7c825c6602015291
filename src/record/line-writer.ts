import { isProxy } from 'node:util/types'
import { monotonicMs } from '../time.ts'
import { copyEscaped, firstEscape, isEscaped, shortEscapes } from './escapes.ts'
import { isRecord, isValidDate, wideNames } from './is-plain-data.ts'
import { fits } from './json-text.ts'
import { Learned, LearnedName, type Piece } from './learned-names.ts'
import { maxDepth, type NonFinite } from './plain.ts'

/** Lines up to nearly so many bytes need no larger buffer; one that is larger than that is not kept for the next line. */
const usualBytes = 65_536
const maxKeptBytes = 1_100_000
const growth = 4
/** What a name, a short text or a number, and the ends of all containers take at most: room is asked for before each member. */
const slackBytes = 1024
/** Texts up to this length are written one unit after the other, to spare the call of what is native. */
const shortText = 100
/** Longer texts are left to `JSON.stringify` from the first escape: they would be copied twice. */
const maxEscapedBytes = 65_536
/** Numbers below this with up to six decimals have at most 15 digits. */
const maxInMillionths = 1e9

/** Members that are `undefined` take no bytes, so the limit in bytes does not end an object of them. */
const maxAbsent = 10_000
/** So many members are written in 10 µs or less, but where an accessor or a proxy takes its time. */
const membersPerClock = 64
const maxMsPerClock = 3
const maxMs = 15
/** From this nesting on, each object is timed: a cycle through a large one lists its names once for each level. */
const deep = 8

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
  #maxEnd = 0
  #start = 0
  #end = 0
  #absent = 0
  #isTimed = false
  #nonFinite: NonFinite = 'null'
  #startedAtMs = 0
  #clockAtMs = 0
  readonly #learned = new Learned()

  constructor() {
    this.bytes = Buffer.allocUnsafeSlow(usualBytes)
    this.#view = viewOf(this.bytes)
    this.#limit = usualBytes - slackBytes
  }

  /** Begins a line with an object whose first members are given, without its closing brace; says how long that is. */
  begin(head: Uint8Array | undefined, nonFinite: NonFinite = 'null'): number {
    this.#nonFinite = nonFinite
    if (this.bytes.length > maxKeptBytes) this.#replace(Buffer.allocUnsafeSlow(usualBytes), 0)
    this.#start = head?.length ?? 0
    if (head !== undefined) this.bytes.set(head)
    return this.#start
  }

  /** Writes an object. `false` when it is no plain data, or takes more than `maxBytes`, or long. Not to be called by its accessors. */
  write(event: object, maxBytes: number): boolean {
    this.#isTimed = true
    return this.#writeAny(event, maxBytes)
  }

  /** The same for plain data without accessors, however long it takes. */
  writeCopy(fields: object, maxBytes: number): boolean {
    this.#isTimed = false
    return this.#writeAny(fields, maxBytes)
  }

  /** Writes an object of which the JSON is there. `false` when it takes more than `maxBytes`. */
  writeJson(json: string, maxBytes: number): boolean {
    this.#maxEnd = this.#start + maxBytes
    return this.#isAt(this.#writeAll(json, this.#start))
  }

  /** Ends the line with other members of the object and its closing brace, where there are any; says how long it is. */
  end(tail: Uint8Array | undefined): number {
    const start = this.#start
    let end = this.#end
    if (start > 0) {
      const isEmpty = end - start === emptyObjectBytes
      this.bytes[start] = isEmpty ? closingBrace : comma
      if (isEmpty) end = start + 1
    }
    if (tail === undefined) return end
    if (end + tail.length > this.bytes.length)
      this.#replace(Buffer.allocUnsafeSlow(end + tail.length + slackBytes), end)
    const rest = end === emptyObjectBytes && tail.length > 1 ? tail.subarray(1) : tail // there is nothing before its comma
    this.bytes.set(rest, end - 1)
    return end - 1 + rest.length
  }

  /** How long the line is so far. */
  get length(): number {
    return this.#end
  }

  #writeAny(event: object, maxBytes: number): boolean {
    this.#maxEnd = this.#start + maxBytes
    this.#absent = 0
    this.#startedAtMs = 0
    this.#learned.renew()
    try {
      return this.#isAt(isRecord(event) ? this.#writeEvent(event) : failed)
    } catch {
      return false // an accessor or a proxy that throws
    }
  }

  #isAt(end: number): boolean {
    this.#end = end
    return end >= 0 && end <= this.#maxEnd
  }

  // What follows writes at a place, and says where it ends, or that it failed.

  #writeEvent(event: Record<string, unknown>): number {
    const names = wideNames(event)
    return names === undefined
      ? this.#writeRecord(event, this.#start, 0, this.#learned.root)
      : this.#writeWide(event, names, this.#start)
  }

  #writeRecord(record: Record<string, unknown>, start: number, depth: number, place: LearnedName): number {
    if (typeof record.toJSON === 'function') return failed
    let at = start
    let last = place.start
    let count = 0
    for (const name in record) {
      if (++count % membersPerClock === 0 && this.#isSlow()) return failed
      if (!hasOwn.call(record, name)) return failed
      const value = record[name]
      if (value === undefined) {
        if (++this.#absent > maxAbsent) return failed
        continue
      }
      if (at > this.#limit && !this.#grow(at, at)) return failed
      let learned: LearnedName | undefined = last.next
      if (learned.name !== name) {
        learned = place.find(name, this.#learned)
        if (learned !== undefined) last.next = learned
      }
      if (learned === undefined) {
        at = this.#writeUnlearned(name, value, at, depth)
      } else {
        last = learned
        if (typeof value !== 'string') {
          if (value === record) return failed
          at = this.#writeValue(value, this.#copy(learned.piece, at), depth, learned)
        } else if (value === learned.text) {
          at = this.#copy(learned.withText, at)
        } else {
          at = this.#writeText(value, this.#copy(learned.piece, at))
          learned.learn(value)
        }
      }
      if (at < 0) return failed
    }
    return this.#endRecord(record, start, at)
  }

  /** The same of an event by its names. */
  #writeWide(record: Record<string, unknown>, names: readonly string[], start: number): number {
    if (typeof record.toJSON === 'function') return failed
    let at = start
    let last = this.#learned.root.start
    for (let i = 0; i < names.length; i++) {
      if (i % membersPerClock === membersPerClock - 1 && this.#isSlow()) return failed
      const name = names[i] as string
      const value = record[name]
      if (value === undefined) {
        if (++this.#absent > maxAbsent) return failed
        continue
      }
      if (value === record) return failed
      const learned = last.next.name === name ? last.next : this.#learnedAfter(last, name, this.#learned.root)
      at = this.#writeMember(name, value, at, 0, learned)
      if (at < 0) return failed
      if (learned !== undefined) last = learned
    }
    return this.#endRecord(record, start, at)
  }

  #endRecord(record: object, start: number, end: number): number {
    if (end === start && this.#isSuspect(record)) return failed
    const at = end === start ? start + 1 : end
    this.bytes[start] = openingBrace // in place of the first comma
    this.bytes[at] = closingBrace
    return at + 1
  }

  #learnedAfter(last: LearnedName, name: string, place: LearnedName): LearnedName | undefined {
    const learned = place.find(name, this.#learned)
    if (learned !== undefined) last.next = learned
    return learned
  }

  #writeMember(name: string, value: unknown, at: number, depth: number, learned: LearnedName | undefined): number {
    if (at > this.#limit && !this.#grow(at, at)) return failed
    if (learned === undefined) return this.#writeUnlearned(name, value, at, depth)
    if (typeof value !== 'string') return this.#writeValue(value, this.#copy(learned.piece, at), depth, learned)
    if (value === learned.text) return this.#copy(learned.withText, at)
    const end = this.#writeText(value, this.#copy(learned.piece, at))
    learned.learn(value)
    return end
  }

  #writeUnlearned(name: string, value: unknown, at: number, depth: number): number {
    this.bytes[at] = comma
    const end = this.#writeText(name, at + 1)
    if (end < 0) return failed
    this.bytes[end] = colon
    return this.#writeValue(value, end + 1, depth, unlearned)
  }

  #writeValue(value: unknown, at: number, depth: number, place: LearnedName): number {
    if (typeof value === 'string') return this.#writeText(value, at)
    if (typeof value === 'number') return this.#writeNumber(value, at)
    if (typeof value === 'boolean') return this.#writeAscii(value ? 'true' : 'false', at)
    if (typeof value !== 'object') return failed
    if (value === null) return this.#writeAscii('null', at)
    if (depth >= deep && (depth === maxDepth || this.#isSlow())) return failed
    if (Array.isArray(value)) return this.#writeArray(value, at, depth + 1, place)
    if (isRecord(value)) return this.#writeRecord(value, at, depth + 1, place)
    return isValidDate(value) ? this.#writeAll(JSON.stringify(value), at) : failed
  }

  #writeArray(
    array: readonly unknown[] & { toJSON?: unknown },
    start: number,
    depth: number,
    place: LearnedName,
  ): number {
    if (array.toJSON !== undefined) return failed
    let at = start + 1
    for (let i = 0; i < array.length; i++) {
      if (i % membersPerClock === membersPerClock - 1 && this.#isSlow()) return failed
      if (at > this.#limit && !this.#grow(at, at)) return failed
      if (i > 0) this.bytes[at++] = comma
      const item = array[i]
      at = item === undefined ? this.#writeAscii('null', at) : this.#writeValue(item, at, depth, place)
      if (at < 0) return failed
    }
    this.bytes[start] = openingBracket
    this.bytes[at] = closingBracket
    return at + 1
  }

  /** Of an object without members, a proxy may have listed a million names that it does not have, and again the next time. */
  #isSuspect(empty: object): boolean {
    return this.#isTimed && (isProxy(empty) || this.#isSlow())
  }

  /** Whether the application's own code takes long. Then the way that keeps account of time is taken. */
  #isSlow(): boolean {
    if (!this.#isTimed) return false
    const nowMs = monotonicMs()
    const isFirst = this.#startedAtMs === 0
    if (isFirst) this.#startedAtMs = nowMs
    const isSlow = !isFirst && (nowMs - this.#clockAtMs > maxMsPerClock || nowMs - this.#startedAtMs > maxMs)
    this.#clockAtMs = nowMs
    return isSlow
  }

  #copy({ words, length }: Piece, at: number): number {
    const view = this.#view
    for (let i = 0, to = at; i < words.length; i++, to += 4) view.setInt32(to, words[i] as number, true)
    return at + length
  }

  #writeText(text: string, start: number): number {
    const { length } = text
    if (length > shortText) return this.#writeLongText(text, start)
    const { bytes } = this
    let at = start
    bytes[at++] = quote
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i)
      if (unit < 0x80) {
        if (isEscaped(unit)) {
          const letter = shortEscapes[unit] as number
          if (letter === 0) return this.#writeAll(JSON.stringify(text), start)
          bytes[at++] = backslash
          bytes[at++] = letter
        } else {
          bytes[at++] = unit
        }
      } else if (unit < 0x800) {
        bytes[at++] = 0xc0 | (unit >> 6)
        bytes[at++] = 0x80 | (unit & 0x3f)
      } else if (unit < 0xd800 || unit > 0xdfff) {
        bytes[at++] = 0xe0 | (unit >> 12)
        bytes[at++] = 0x80 | ((unit >> 6) & 0x3f)
        bytes[at++] = 0x80 | (unit & 0x3f)
      } else {
        const codePoint = text.codePointAt(i++) as number
        if (codePoint <= 0xffff) return this.#writeAll(JSON.stringify(text), start) // half of a pair
        bytes[at++] = 0xf0 | (codePoint >> 18)
        bytes[at++] = 0x80 | ((codePoint >> 12) & 0x3f)
        bytes[at++] = 0x80 | ((codePoint >> 6) & 0x3f)
        bytes[at++] = 0x80 | (codePoint & 0x3f)
      }
    }
    bytes[at] = quote
    return at + 1
  }

  /** Natively. What has to be escaped is looked for in its bytes. */
  #writeLongText(text: string, at: number): number {
    if (!this.#hasRoomFor(text, at)) return failed
    const start = at + 1
    let end = start + this.bytes.write(text, start)
    // Only a text that is not ASCII takes more bytes than units; half of a pair is lost in them.
    if (end - start > text.length && !text.isWellFormed()) {
      return fits(text, this.#maxEnd - at) ? this.#writeAll(JSON.stringify(text), at) : failed
    }
    const firstAt = firstEscape(this.#view, start, end)
    if (firstAt >= 0) end = this.#escape(firstAt, end)
    if (end < 0) return this.#writeAll(JSON.stringify(text), at)
    this.bytes[at] = quote
    this.bytes[end] = quote
    return end + 1
  }

  /** Escapes a text that has been written, from `start` on. Fails if it is too long, or an escape longer than a letter. */
  #escape(start: number, end: number): number {
    const length = end - start
    if (length > maxEscapedBytes || end + length > this.#limit) return failed
    this.bytes.copyWithin(end, start, end) // out of the way of what becomes longer, by as much as that can be
    return copyEscaped(this.#view, end, end + length, start)
  }

  #writeAll(json: string, at: number): number {
    return this.#hasRoomFor(json, at) ? at + this.bytes.write(json, at) : failed
  }

  #writeNumber(value: number, at: number): number {
    const whole = value | 0
    if (whole === value && whole >= 0) return this.#writeDigits(whole, at)
    if (!Number.isFinite(value)) return this.#writeAscii(this.#nonFinite === 'text' ? `"${value}"` : 'null', at)
    const magnitude = Math.abs(value)
    const start = value < 0 ? at + 1 : at
    if (start > at) this.bytes[at] = minus
    if (magnitude < maxInMillionths) {
      // A number has at most one decimal of 15 digits or fewer, and of the decimals that stand for it JSON has the shortest.
      const millionths = Math.round(magnitude * 1e6)
      if (millionths / 1e6 === magnitude) {
        const units = Math.floor(magnitude)
        return this.#writeDecimals(millionths - units * 1e6, this.#writeDigits(units, start))
      }
    } else if (Number.isSafeInteger(magnitude)) {
      const low = magnitude % 1e9
      return this.#writePadded(low, this.#writeDigits((magnitude - low) / 1e9, start), 9)
    }
    return this.#writeAscii(`${value}`, at)
  }

  /** A number from 0 to 2^31 - 1. */
  #writeDigits(value: number, at: number): number {
    let count = 1
    for (let limit = 10; count < 10 && value >= limit; limit *= 10) count++
    return this.#writePadded(value, at, count)
  }

  /** So many digits of it. */
  #writePadded(value: number, start: number, count: number): number {
    const { bytes } = this
    let rest = value | 0
    for (let at = start + count - 1; at >= start; at--) {
      const tenth = (rest / 10) | 0
      bytes[at] = zero + rest - tenth * 10
      rest = tenth
    }
    return start + count
  }

  /** Less than a million millionths, without zeros at the end. */
  #writeDecimals(millionths: number, at: number): number {
    if (millionths === 0) return at
    let rest = millionths | 0
    let count = 6
    for (let tenth = (rest / 10) | 0; tenth * 10 === rest; tenth = (rest / 10) | 0) {
      rest = tenth
      count--
    }
    this.bytes[at] = dot
    return this.#writePadded(rest, at + 1, count)
  }

  #writeAscii(text: string, at: number): number {
    for (let i = 0; i < text.length; i++) this.bytes[at + i] = text.charCodeAt(i)
    return at + text.length
  }

  /** Counting bytes is worth it only near the limit: a UTF-16 unit never takes more than three. */
  #hasRoomFor(text: string, at: number): boolean {
    if (at + 3 * text.length <= this.#limit) return true
    if (at + text.length > this.#maxEnd) return false
    const end = at + Buffer.byteLength(text)
    return end <= this.#limit || this.#grow(end, at)
  }

  /** A larger buffer, with what has been written so far. */
  #grow(neededBytes: number, writtenBytes: number): boolean {
    if (neededBytes > this.#maxEnd) return false
    const bytes = Math.min(Math.max(neededBytes, this.bytes.length * growth), this.#maxEnd)
    this.#replace(Buffer.allocUnsafeSlow(bytes + slackBytes), writtenBytes)
    return true
  }

  #replace(bytes: Buffer, writtenBytes: number): void {
    this.bytes.copy(bytes, 0, 0, writtenBytes)
    const view = viewOf(bytes) // first: were there no stack for it, lines would be written to two buffers
    this.bytes = bytes
    this.#view = view
    this.#limit = bytes.length - slackBytes
  }
}

/** In place of where something ends that could not be written. */
const failed = -1

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
const backslash = 0x5c
const minus = 0x2d
const dot = 0x2e
const zero = 0x30
