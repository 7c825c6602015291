import { SystemDate } from '../time.ts'
import { isTimeMs } from './clock.ts'
import { Sequence } from './sequence.ts'

/** Length of `2026-11-21T02:47:05.`. */
const lengthToDot = 20

/** The one sequence of the process. Lines of all shippers, whatever their source, take their digits from it. */
const processSequence = new Sequence()

/** Writes the first bytes of a line, `{"_time":"2026-11-21T02:47:05.123000000Z"`: RFC 3339 with nine digits. */
export class Timestamper {
  readonly #sequence: Sequence
  readonly #bytes: Buffer
  readonly #start: number
  #shownMs = -1
  #shownSecond = -1
  #shownDigits = 0

  /** @param rest further members after the timestamp, beginning with a comma */
  constructor(fieldName: string, sequence: Sequence = processSequence, rest = '') {
    const opening = `{${JSON.stringify(fieldName)}:"`
    this.#sequence = sequence
    this.#bytes = Buffer.from(`${opening}1970-01-01T00:00:00.000000000Z"${rest}`)
    this.#start = Buffer.byteLength(opening)
  }

  /**
   * Returns the head of a line logged now, at `ms` milliseconds since 1970. The time is unique and increasing within
   * the process (see `Sequence.live`).
   *
   * Each call returns the same object and overwrites its bytes. The caller must copy the bytes before the next call.
   */
  at(ms: number): Uint8Array {
    const sequence = this.#sequence
    sequence.live(Math.floor(isTimeMs(ms) ? ms : sequence.now()))
    return this.#write(sequence.ms, sequence.digits)
  }

  /**
   * Returns the head of a line that brings its own time, [seconds, nanoseconds] since 1970. A time finer than a
   * millisecond is written exactly. Any other time gets unique digits below the millisecond. An invalid time (zero,
   * garbage) becomes the current time.
   */
  atHrTime(time: readonly [number, number]): Uint8Array {
    const sequence = this.#sequence
    if (!isHrTime(time)) return this.at(sequence.now())
    const ms = time[0] * 1000 + Math.floor(time[1] / 1e6)
    const digits = time[1] % 1e6
    if (digits !== 0) return this.#write(ms, digits)
    sequence.recorded(ms)
    return this.#write(sequence.ms, sequence.digits)
  }

  #write(ms: number, digits: number): Uint8Array {
    if (ms !== this.#shownMs) this.#showMs(ms)
    this.#showDigits(digits)
    return this.#bytes
  }

  /**
   * Writes digits from the last one to the first one that changes: mostly one or two, because each line has the next
   * number.
   */
  #showDigits(digits: number): void {
    let shown = this.#shownDigits
    this.#shownDigits = digits
    for (let at = this.#start + lengthToDot + 8; digits !== shown; at--) {
      const tenth = (digits / 10) | 0
      this.#bytes[at] = 48 + digits - tenth * 10
      digits = tenth
      shown = (shown / 10) | 0
    }
  }

  #showMs(ms: number): void {
    const second = Math.floor(ms / 1000)
    this.#shownMs = -1 // until all digits show the same time: the stack may end in between
    if (second !== this.#shownSecond) {
      const text = new SystemDate(ms).toISOString().slice(0, lengthToDot)
      this.#shownSecond = -1
      this.#bytes.write(text, this.#start)
      this.#shownSecond = second
    }
    writeDigits(this.#bytes, this.#start + lengthToDot + 3, 3, ms - second * 1000)
    this.#shownMs = ms
  }
}

let textSecond = -1
let secondText = ''

/**
 * Formats [seconds, nanoseconds] since 1970 as RFC 3339 with nine digits. Returns `undefined` for zero and for an
 * invalid time.
 */
export function formatNanoTime(time: readonly [number, number]): string | undefined {
  if (!isHrTime(time)) return undefined
  if (time[0] !== textSecond) {
    secondText = new SystemDate(time[0] * 1000).toISOString().slice(0, lengthToDot)
    textSecond = time[0]
  }
  return `${secondText}${String(time[1]).padStart(9, '0')}Z`
}

/** True if both parts are integers in range. [0, 0], OpenTelemetry's value for an unknown time, does not count. */
export function isHrTime(time: unknown): time is readonly [number, number] {
  if (!Array.isArray(time)) return false
  const [seconds, nanos] = time
  return (
    Number.isInteger(seconds) &&
    isTimeMs(seconds * 1000) &&
    Number.isInteger(nanos) &&
    nanos >= 0 &&
    nanos < 1e9 &&
    seconds + nanos > 0
  )
}

/**
 * Returns a valid time, or `undefined`. A time that an application has calculated may have a second or more of nanoseconds,
 * or less than none: whole seconds are carried over.
 */
export function carriedHrTime(time: unknown): readonly [number, number] | undefined {
  if (isHrTime(time)) return time
  if (!Array.isArray(time) || !Number.isInteger(time[1])) return undefined
  const [seconds, nanos] = time
  const rest = ((nanos % 1e9) + 1e9) % 1e9
  const carried = [seconds + Math.round((nanos - rest) / 1e9), rest]
  return isHrTime(carried) ? carried : undefined
}

/** Writes `value` as `count` decimal digits that end before `end`. */
function writeDigits(bytes: Uint8Array, end: number, count: number, value: number): void {
  for (let i = end - 1; i >= end - count; i--) {
    const tenth = (value / 10) | 0
    bytes[i] = 48 + value - tenth * 10
    value = tenth
  }
}
