/** Length of the part of a uid that is unique to a shipper: 64 random bits in base 36. */
const prefixChars = 13

/**
 * The numbers of events in the order in which they are accepted, without gaps: a gap downstream is a loss.
 *
 * A number is in its line before the event is accepted. Meanwhile other events may be accepted, because an accessor may
 * log. A number whose event is not accepted goes to the next event. At most eight log calls are under way, one within
 * the other, so that there are never more than nine spare numbers.
 *
 * The fields are public, because a number is returned where the stack may have ended, and nothing can be called.
 */
export class UidSequence {
  /** The part of each uid that is unique to the shipper. */
  readonly prefix: string
  /** The number of the event that is being added; 0 if it has none. */
  current = 0
  next = 1
  readonly spare = new Float64Array(16)
  spareCount = 0

  constructor(prefix: string = randomPrefix()) {
    this.prefix = prefix
  }

  /** Takes a number for the event that is being added. */
  take(): number {
    const number = this.spareCount > 0 ? (this.spare[--this.spareCount] as number) : this.next++
    this.current = number
    return number
  }
}

function randomPrefix(): string {
  const { randomBytes } = process.getBuiltinModule('node:crypto') // loaded only now, as loading takes 3 ms
  return randomBytes(8).readBigUInt64BE().toString(36).padStart(prefixChars, '0')
}
