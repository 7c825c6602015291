import { isProxy } from 'node:util/types'
import type { Censor } from './censor.ts'
import { censored } from './censored.ts'
import { copyEscaped, firstEscape, isEscaped, shortEscapes } from './escapes.ts'
import { isRecord, isValidDate, wideNames } from './is-plain-data.ts'
import { fits } from './json-text.ts'
import { Learned, LearnedName, type Piece } from './learned-names.ts'
import { maxDepth, type NonFinite } from './plain.ts'
import { deep, membersPerClock, ReadingClock } from './reading-clock.ts'
import type { Rule } from './redact-rule.ts'

/** Initial size of the buffer, in bytes. Lines up to nearly this size need no larger buffer. */
const usualBytes = 65_536
/** Maximum size of a buffer that is kept for the next line, in bytes. */
const maxKeptBytes = 1_100_000
const growth = 4
/**
 * Bytes kept free at the end of the buffer, because room is checked only before each member. A name, a short text or a
 * number, and the ends of all containers take no more.
 */
const slackBytes = 1024
/** Texts up to this length are written unit by unit, which spares a native call. */
const shortText = 100
/**
 * Maximum bytes from the first escape on that are escaped in place. `JSON.stringify` writes longer texts, because
 * escaping in place copies these bytes twice.
 */
const maxEscapedBytes = 65_536
/** Numbers below this with up to six decimals have at most 15 digits. */
const maxInMillionths = 1e9

/**
 * Maximum number of `undefined` members in an event. They take no bytes, so the limit in bytes does not stop an object
 * full of them.
 */
const maxAbsent = 10_000

/** Number of members of a wide event between two readings of the clock if their names are not learned. */
const unlearnedPerClock = 8

const hasOwn = Object.prototype.hasOwnProperty

/** The part of a redaction that the line writer uses. */
export interface RedactionRules {
  /** The rule for the members of an event; `undefined` if nothing is redacted. */
  readonly root: Rule | undefined
  readonly censor: Censor
  /** Returns the text with its matches masked, or `undefined` if that takes the path of the text, a cut, or long. */
  maskAtOnce(text: string): string | undefined
}

/**
 * Writes lines: the members before those of an object (`{"_time":"…"`), the object, and the members after it.
 *
 * An object of plain data is written in one pass, as the bytes that `JSON.stringify` would make of it. The pass finds
 * values that JSON cannot represent. It takes half the time of checking the object, calling `JSON.stringify` and
 * writing the text into a buffer. The reason is that names of fields repeat: the writer learns names, and guesses each
 * next name.
 */
export class LineWriter {
  /** Holds the line from `end` until the next `begin`. */
  bytes: Buffer
  #view: DataView
  /** Offset from which on the buffer has no room for another member. */
  #limit: number
  /** Maximum offset at which the object may end. */
  #maxEnd = 0
  #start = 0
  #end = 0
  #absent = 0
  /**
   * Number of members read since the event began, in the containers that are written. A container counts its members
   * in a variable, which is faster, and adds them at its end.
   */
  #members = 0
  /** Names of the event since `begin`, if it is wide. Its copy need not list them again. */
  names: readonly string[] | undefined
  #isTimed = false
  #nonFinite: NonFinite = 'null'
  readonly #clock = new ReadingClock()
  readonly #learned: Learned
  readonly #redaction: RedactionRules | undefined
  readonly #masksTexts: boolean

  /** @param redaction applies to whatever `write` and `writeCopy` write */
  constructor(redaction?: RedactionRules) {
    this.#redaction = redaction
    this.#masksTexts = redaction?.root?.masksTexts === true
    this.#learned = new Learned(() => new LearnedName(undefined, redaction?.root))
    this.bytes = Buffer.allocUnsafeSlow(usualBytes)
    this.#view = viewOf(this.bytes)
    this.#limit = usualBytes - slackBytes
  }

  /**
   * Begins a line with `head`: the first members of an object, without its closing brace. Returns the length of the
   * head in bytes.
   */
  begin(head: Uint8Array | undefined, nonFinite: NonFinite = 'null'): number {
    this.#nonFinite = nonFinite
    this.names = undefined
    if (this.bytes.length > maxKeptBytes) this.#replace(Buffer.allocUnsafeSlow(usualBytes), 0)
    this.#start = head?.length ?? 0
    if (head !== undefined) this.bytes.set(head)
    return this.#start
  }

  /**
   * Writes an object. Returns false if the object is not plain data, takes more than `maxBytes`, or takes too long to
   * read. Accessors of the object must not call this method.
   */
  write(event: object, maxBytes: number): boolean {
    this.#isTimed = true
    return this.#writeAny(event, maxBytes)
  }

  /** Writes plain data without accessors, like `write` but without a limit on time. */
  writeCopy(fields: object, maxBytes: number): boolean {
    this.#isTimed = false
    return this.#writeAny(fields, maxBytes)
  }

  /** Writes an object whose JSON the caller has. Returns false if the JSON takes more than `maxBytes`. */
  writeJson(json: string, maxBytes: number): boolean {
    this.#maxEnd = this.#start + maxBytes
    return this.#isAt(this.#writeAll(json, this.#start))
  }

  /**
   * Ends the line. If `tail` is given, it replaces the closing brace: more members, and a closing brace. Returns the
   * length of the line in bytes.
   */
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
    const rest = end === emptyObjectBytes && tail.length > 1 ? tail.subarray(1) : tail // no member precedes its comma
    this.bytes.set(rest, end - 1)
    return end - 1 + rest.length
  }

  /** Length of the line so far, in bytes. */
  get length(): number {
    return this.#end
  }

  #writeAny(event: object, maxBytes: number): boolean {
    this.#maxEnd = this.#start + maxBytes
    this.#absent = 0
    this.#members = 0
    this.#clock.begin()
    this.#learned.renew()
    try {
      return this.#isAt(isRecord(event) ? this.#writeEvent(event) : failed)
    } catch {
      return false // an accessor or a proxy threw
    }
  }

  #isAt(end: number): boolean {
    this.#end = end
    return end >= 0 && end <= this.#maxEnd
  }

  // The `#write…` methods below write at an offset. They return the offset after the last byte written, or `failed`.

  #writeEvent(event: Record<string, unknown>): number {
    const names = wideNames(event)
    this.names = names
    return names === undefined
      ? this.#writeRecord(event, this.#start, 0, this.#learned.root)
      : this.#writeWide(event, names, this.#start)
  }

  #writeRecord(record: Record<string, unknown>, start: number, depth: number, place: LearnedName): number {
    if (typeof record.toJSON === 'function') return failed
    let at = start
    let last = place.start
    const before = this.#members
    let members = before
    for (const name in record) {
      if (++members % membersPerClock === 0 && this.#isSlow()) return failed
      if (!hasOwn.call(record, name)) return failed
      const value = record[name]
      if (value === undefined) {
        if (++this.#absent > maxAbsent) return failed
        continue
      }
      if (at > this.#limit && !this.#grow(at, at)) return failed
      let learned: LearnedName | undefined = last.next
      if (learned.name !== name) {
        const redacted = place.redacted(name)
        if (redacted !== undefined) {
          at = this.#copy(redacted, at)
          continue
        }
        const { count } = this.#learned
        learned = place.find(name, this.#learned)
        if (learned === undefined) {
          if (isAccessor(record, name) && this.#isSlow()) return failed
        } else {
          last.next = learned
          if (this.#learned.count > count) learned.isAccessor = isAccessor(record, name)
        }
      }
      if (learned === undefined) {
        at = this.#writeUnlearned(name, value, at, depth, place)
      } else {
        last = learned
        if (learned.isAccessor && this.#isSlow()) return failed
        if (typeof value !== 'string') {
          if (value === record) return failed
          at = this.#writeValue(value, this.#copy(learned.piece, at), depth, learned)
        } else if (value === learned.text) {
          at = this.#copy(learned.withText, at)
        } else if (this.#masksTexts) {
          at = this.#writeMasked(value, this.#copy(learned.piece, at), learned)
        } else {
          at = this.#writeText(value, this.#copy(learned.piece, at))
          learned.learn(value)
        }
      }
      if (at < 0) return failed
    }
    this.#members += members - before
    return this.#endRecord(record, start, at)
  }

  /** Writes a wide event by its listed names. */
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
      const learned = last.next.name === name ? last.next : this.#learnedAfter(last, name, record)
      // A name that is not learned is not looked up, because an event may have tens of thousands of them.
      if (learned === undefined ? i % unlearnedPerClock === 0 : learned.isAccessor) if (this.#isSlow()) return failed
      at = this.#writeMember(name, value, at, learned)
      if (at < 0) return failed
      if (learned !== undefined) last = learned
    }
    return this.#endRecord(record, start, at)
  }

  #endRecord(record: object, start: number, end: number): number {
    if (end === start && this.#isSuspect(record)) return failed
    const at = end === start ? start + 1 : end
    this.bytes[start] = openingBrace // replaces the first comma
    this.bytes[at] = closingBrace
    return at + 1
  }

  /** Returns the name of a member of a wide event, which may be new. */
  #learnedAfter(last: LearnedName, name: string, event: object): LearnedName | undefined {
    const { count } = this.#learned
    const learned = this.#learned.root.find(name, this.#learned)
    if (learned === undefined) return undefined
    last.next = learned
    if (this.#learned.count > count) learned.isAccessor = isAccessor(event, name)
    return learned
  }

  /** Writes a member of a wide event. */
  #writeMember(name: string, value: unknown, at: number, learned: LearnedName | undefined): number {
    if (at > this.#limit && !this.#grow(at, at)) return failed
    if (learned === undefined) return this.#writeUnlearned(name, value, at, 0, this.#learned.root)
    if (typeof value !== 'string') return this.#writeValue(value, this.#copy(learned.piece, at), 0, learned)
    if (value === learned.text) return this.#copy(learned.withText, at)
    if (this.#masksTexts) return this.#writeMasked(value, this.#copy(learned.piece, at), learned)
    const end = this.#writeText(value, this.#copy(learned.piece, at))
    learned.learn(value)
    return end
  }

  #writeUnlearned(name: string, value: unknown, at: number, depth: number, place: LearnedName): number {
    const { rule } = place
    if (rule !== undefined) return this.#writeRuled(name, value, at, depth, place, rule)
    const end = this.#writeName(name, at)
    return end < 0 ? failed : this.#writeValue(value, end, depth, unlearned)
  }

  /** Writes a member that is not learned in a place to which a rule applies: perhaps because its value is redacted. */
  #writeRuled(name: string, value: unknown, at: number, depth: number, place: LearnedName, rule: Rule): number {
    const redacted = place.redacted(name)
    if (redacted !== undefined) return this.#copy(redacted, at)
    const ruling = rule.member(name)
    if (ruling === censored) return this.#writeRedacted(name, value, at, place)
    const end = this.#writeName(name, at)
    return end < 0 ? failed : this.#writeUnder(ruling, value, end, depth)
  }

  #writeName(name: string, at: number): number {
    this.bytes[at] = comma
    const end = this.#writeText(name, at + 1)
    if (end < 0) return failed
    this.bytes[end] = colon
    return end + 1
  }

  /** Writes a member whose value is redacted. Fails if the replacement depends on more than a primitive value. */
  #writeRedacted(name: string, value: unknown, at: number, place: LearnedName): number {
    const { censor } = this.#redaction as RedactionRules
    if (censor.isRemoval) return at
    const text = censor.atOnce(value)
    if (text === undefined) return failed
    if (censor.text !== undefined && place.rule?.isSpent === false) place.remember(name, text)
    const end = this.#writeName(name, at)
    return end < 0 ? failed : this.#writeText(text, end)
  }

  /** Writes a value to which a rule may apply. A text in an array, or in a place that is not learned, is masked here. */
  #writeUnder(rule: Rule | undefined, value: unknown, at: number, depth: number, place?: LearnedName): number {
    if (rule === undefined) return this.#writeValue(value, at, depth, unlearned)
    if (rule.masksTexts && typeof value === 'string') return this.#writeMasked(value, at)
    return this.#writeValue(value, at, depth, place ?? unlearnedUnder(rule))
  }

  /** Writes a text with its matches masked. Only a text without any is learned, so that its bytes need no other look. */
  #writeMasked(text: string, at: number, learned?: LearnedName): number {
    const masked = this.#redaction?.maskAtOnce(text)
    if (masked === undefined) return failed
    if (masked === text) learned?.learn(text)
    return this.#writeText(masked, at)
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
    if (this.#masksTexts || !isValidDate(value)) return failed // a date becomes a text in the copy, which is masked
    return this.#writeAll(JSON.stringify(value), at)
  }

  #writeArray(
    array: readonly unknown[] & { toJSON?: unknown },
    start: number,
    depth: number,
    place: LearnedName,
  ): number {
    if (array.toJSON !== undefined) return failed
    if (place.rule !== undefined) {
      const { rule } = place
      const { everyItem } = rule
      if (everyItem === 'varied' || everyItem === censored) return this.#writeRuledArray(array, start, depth, rule)
      place = place.itemsUnder(everyItem)
      if (this.#masksTexts) return this.#writeRuledArray(array, start, depth, rule, place)
    }
    const before = this.#members
    let at = start + 1
    for (let i = 0; i < array.length; i++) {
      if ((before + i) % membersPerClock === membersPerClock - 1 && this.#isSlow()) return failed
      if (at > this.#limit && !this.#grow(at, at)) return failed
      if (i > 0) this.bytes[at++] = comma
      const item = array[i]
      at = item === undefined ? this.#writeAscii('null', at) : this.#writeValue(item, at, depth, place)
      if (at < 0) return failed
    }
    this.#members += array.length
    this.bytes[start] = openingBracket
    this.bytes[at] = closingBracket
    return at + 1
  }

  /**
   * Writes an array whose items need a look each.
   *
   * @param items the place of the items, if the same rule applies to all of them
   */
  #writeRuledArray(array: readonly unknown[], start: number, depth: number, rule: Rule, items?: LearnedName): number {
    const before = this.#members
    let at = start + 1
    for (let i = 0; i < array.length; i++) {
      if ((before + i) % membersPerClock === membersPerClock - 1 && this.#isSlow()) return failed
      if (at > this.#limit && !this.#grow(at, at)) return failed
      if (i > 0) this.bytes[at++] = comma
      const item = array[i]
      const ruling = rule.item(i)
      if (ruling === censored) at = this.#writeRedactedItem(item, at)
      else at = item === undefined ? this.#writeAscii('null', at) : this.#writeUnder(ruling, item, at, depth, items)
      if (at < 0) return failed
    }
    this.#members += array.length
    this.bytes[start] = openingBracket
    this.bytes[at] = closingBracket
    return at + 1
  }

  #writeRedactedItem(item: unknown, at: number): number {
    const { censor } = this.#redaction as RedactionRules
    if (censor.isRemoval) return this.#writeAscii('null', at)
    const text = censor.atOnce(item ?? null)
    return text === undefined ? failed : this.#writeText(text, at)
  }

  /**
   * True if an object without members is a proxy, or took long to read. A proxy may list a million names that it does
   * not have, and list them again the next time.
   */
  #isSuspect(empty: object): boolean {
    return this.#isTimed && (isProxy(empty) || this.#isSlow())
  }

  /**
   * True if application code takes long. The caller then fails, so that `SafeCopy`, which limits that time, copies the
   * event.
   */
  #isSlow(): boolean {
    return this.#isTimed && this.#clock.isSlow()
  }

  /** Time for which application code was seen to run, in milliseconds, if the last write failed for it. */
  get slowMs(): number {
    return this.#clock.slowMs
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
        if (codePoint <= 0xffff) return this.#writeAll(JSON.stringify(text), start) // half of a surrogate pair
        bytes[at++] = 0xf0 | (codePoint >> 18)
        bytes[at++] = 0x80 | ((codePoint >> 12) & 0x3f)
        bytes[at++] = 0x80 | ((codePoint >> 6) & 0x3f)
        bytes[at++] = 0x80 | (codePoint & 0x3f)
      }
    }
    bytes[at] = quote
    return at + 1
  }

  /** Writes a text natively, and then searches the written bytes for characters to escape. */
  #writeLongText(text: string, at: number): number {
    if (!this.#hasRoomFor(text, at)) return failed
    const start = at + 1
    let end = start + this.bytes.write(text, start)
    // Only a text that is not ASCII takes more bytes than units. UTF-8 cannot represent half of a surrogate pair.
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

  /** Escapes written bytes from `start` on. Fails if they are too long, or if a byte has no short escape. */
  #escape(start: number, end: number): number {
    const length = end - start
    if (length > maxEscapedBytes || end + length > this.#limit) return failed
    this.bytes.copyWithin(end, start, end) // makes room for the escaped text, which is at most twice as long
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
      // At most one decimal of 15 digits or fewer stands for a number. JSON writes the shortest decimal that does,
      // which is this one.
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

  /** Writes an integer from 0 to 2^31 - 1. */
  #writeDigits(value: number, at: number): number {
    let count = 1
    for (let limit = 10; count < 10 && value >= limit; limit *= 10) count++
    return this.#writePadded(value, at, count)
  }

  /** Writes an integer from 0 to 2^31 - 1 as `count` digits, with leading zeros. */
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

  /** Writes the decimals of a number, fewer than a million millionths, without trailing zeros. */
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

  /**
   * True if the buffer has room for a text, or could be replaced by a larger one. Bytes are counted only near the
   * limit, because a unit never takes more than three.
   */
  #hasRoomFor(text: string, at: number): boolean {
    if (at + 3 * text.length <= this.#limit) return true
    if (at + text.length > this.#maxEnd) return false
    const end = at + Buffer.byteLength(text)
    return end <= this.#limit || this.#grow(end, at)
  }

  /**
   * Replaces the buffer with a larger one that has the bytes written so far. Returns false if the line would be too
   * long.
   */
  #grow(neededBytes: number, writtenBytes: number): boolean {
    if (neededBytes > this.#maxEnd) return false
    const bytes = Math.min(Math.max(neededBytes, this.bytes.length * growth), this.#maxEnd)
    this.#replace(Buffer.allocUnsafeSlow(bytes + slackBytes), writtenBytes)
    return true
  }

  #replace(bytes: Buffer, writtenBytes: number): void {
    this.bytes.copy(bytes, 0, 0, writtenBytes)
    const view = viewOf(bytes) // first: if no stack is left for this call, `bytes` and `#view` stay the same buffer
    this.bytes = bytes
    this.#view = view
    this.#limit = bytes.length - slackBytes
  }
}

/** True if reading a member runs code of the application, which may take long. A proxy is not asked: that runs a trap. */
function isAccessor(record: object, name: string): boolean {
  return !isProxy(record) && Object.getOwnPropertyDescriptor(record, name)?.get !== undefined
}

/** Returned in place of an offset if a value could not be written. */
const failed = -1

function viewOf({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length)
}

/** Stands for every name that was not learned. No names within it are learned either. */
class Unlearned extends LearnedName {
  override find(): undefined {}

  override itemsUnder(rule: Rule | undefined): LearnedName {
    return rule === undefined ? unlearned : unlearnedUnder(rule)
  }
}

const unlearned = new Unlearned(undefined)
const unlearnedByRule = new WeakMap<Rule, LearnedName>()

function unlearnedUnder(rule: Rule): LearnedName {
  let place = unlearnedByRule.get(rule)
  if (place === undefined) {
    place = new Unlearned(undefined, rule)
    unlearnedByRule.set(rule, place)
  }
  return place
}

/** Bytes of `{}`. */
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
