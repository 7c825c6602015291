import { afterSign, hashOfChars, hashOfWord, lookFrom, nextWord } from './constant-words.ts'
import { type Difference, differenceOf, type StatementWords, signs } from './statement-difference.ts'

/** Number of slots; a power of two. */
const slotCount = 2048
/** Maximum number of slots that lead to others. Hundreds of statements need fewer. */
const maxLeads = slotCount / 8
/** Maximum number of times that a shared slot leads to another one. */
const maxDepth = 6
/** Maximum of the confidence that a slot has one statement. Each sample of another statement takes half of it. */
const maxTrust = 63
const distrust = 32
/**
 * Factor by which points of a slot move apart with each sample of the same statement. It is small, so that no sample
 * stands for more than a small part of the slot.
 */
const growth = 1.01
/** Maximum number of events for each sample of a slot, on average, if samples take little time. */
const maxOwnStride = 256
/** Number of samples after which samples are taken at the pace below: the first events are looked at more closely. */
const firstSamples = 16_384
/** A sample takes as long as counting dozens of events. On average, so many events are counted for each sample. */
const minEventsPerSample = 16
const maxEventsPerSample = 48
const maxStride = 32
/** Number of samples between two checks of the pace. */
const samplesPerCheck = 1024

/** Receives what a slot has counted. */
export type Attribute = (statement: number, bytes: number, events: number) => void

/** The statements that the slots refer to by number. */
export interface Statements {
  readonly attribute: Attribute
  /** Returns what the messages of a statement have in common, or `undefined` if it is not known any more. */
  readonly wordsOf: (statement: number) => StatementWords | undefined
}

/**
 * Divides the bytes of a stream of events among their log statements, without finding the statement of each event.
 *
 * Each event belongs to a slot, by a few characters of its message. Most slots have the events of one statement. Points
 * are spread over the bytes of each slot at random distances. The event that contains a point is a sample: only then is
 * its statement determined, and the statement gets all bytes since the previous point. So the result is exact for a
 * slot with one statement. For a slot with several, the result is a systematic sample in bytes: unbiased, whatever the
 * sizes of the events.
 *
 * Slots with several statements are sampled more often. They also learn where their statements differ, and lead to
 * other slots by the characters or the constant word at that place.
 */
export class ByteSlots {
  readonly #statements: Statements
  readonly #random: () => number
  /** Bytes from the last point to the next one. */
  readonly #gap = new Float64Array(slotCount)
  /** Bytes from here to the next point. An event for which it becomes 0 or less is a sample. */
  readonly #left = new Float64Array(slotCount)
  /** Events since the last sample. */
  readonly #events = new Uint32Array(slotCount)
  /** The statement of most recent samples, as a number; 0 for none. */
  readonly #owner = new Uint32Array(slotCount)
  /** The latest other statement; 0 for none. */
  readonly #rival = new Uint32Array(slotCount)
  readonly #trust = new Uint8Array(slotCount)
  /** Number of events for each sample, on average, if samples take little time. */
  readonly #ownStride = new Float32Array(slotCount)
  /** 1 if a sample was of another statement than the owner. */
  readonly #isMixed = new Uint8Array(slotCount)
  /** The place that leads to other slots: see `leadOf`; 0 for none. */
  readonly #lead = new Uint32Array(slotCount)
  #leadCount = 0
  /** True if the first characters of messages are not used, because they may be those of random identifiers. */
  #beginIsRandom = false
  #sampledBytes = 0
  #sampledEvents = 0
  #stride = 1
  #untilCheck = firstSamples
  #eventsAtCheck = 0

  constructor(statements: Statements, random: () => number) {
    this.#statements = statements
    this.#random = random
  }

  /** Returns the slot of an event by its message, or its name. `seed` stands for what else distinguishes statements. */
  slotOf(message: string, seed: number): number {
    const begin = this.#beginIsRandom ? seed : hashOfChars(message, 0, seed)
    let slot = mixed(begin) & (slotCount - 1)
    let lead = this.#lead[slot] as number
    let wordsFrom = -1
    let words = 0
    let signsFrom = -1
    let sign = 0
    let passed = 0
    let at = 0
    for (let depth = 0; lead !== 0 && depth < maxDepth; depth++) {
      const kind = lead & maxKind
      const place = (lead >> placeShift) & maxPlace
      const index = (lead >> indexShift) & maxIndex
      if (kind === leadKinds.word) {
        if (wordsFrom !== place || index < words) {
          wordsFrom = place
          words = 0
          lookFrom(place)
        }
        for (; words < index; words++) nextWord(message)
        slot = mixed(hashOfWord(slot + lead)) & (slotCount - 1)
      } else {
        let start = place
        if (kind === leadKinds.end) start = Math.max(message.length - place, 0)
        else if (kind === leadKinds.piece) {
          const leadSign = lead >> signShift
          if (signsFrom !== place || sign !== leadSign || index < passed) {
            signsFrom = at = place
            sign = leadSign
            passed = 0
          }
          for (; passed < index && at >= 0; passed++) at = afterSign(message, signs[sign] as string, at)
          start = at < 0 ? message.length : at + ((lead >> offsetShift) & maxOffset)
          if (at < 0) slot++ // a message without the sign differs from one with a value after it
        }
        slot = mixed(hashOfChars(message, start, slot + lead)) & (slotCount - 1)
      }
      lead = this.#lead[slot] as number
    }
    return slot
  }

  /** Returns the statement of most recent samples of a slot, or 0 if there is none. */
  ownerOf(slot: number): number {
    return this.#owner[slot] as number
  }

  /** Counts an event. Returns true if the event is a sample; then `settle` must be called. */
  isSample(slot: number, bytes: number): boolean {
    this.#events[slot] = (this.#events[slot] as number) + 1
    const left = (this.#left[slot] as number) - bytes
    this.#left[slot] = left
    return left <= 0
  }

  /** Attributes what the slot has counted since the last point to the statement of a sample. */
  settle(slot: number, bytes: number, statement: number): void {
    // An event that an accessor has logged meanwhile was the sample, and may have made the slot lead to others.
    if ((this.#left[slot] as number) > 0 || this.#events[slot] === 0) return
    const owner = this.#owner[slot] as number
    if (owner === 0) this.#begin(slot, statement)
    const isShared = owner !== 0 && this.#judge(slot, statement)
    this.#countSample(slot, bytes)
    const counted = this.#nextPoint(slot)
    // A point is more likely to meet a large event. In a mixed slot, each stands for as many as have its bytes.
    const events = this.#isMixed[slot] === 0 ? (this.#events[slot] as number) : counted / bytes
    this.#events[slot] = 0
    this.#statements.attribute(statement, counted, events)
    if (!isShared) return
    if (this.#trust[slot] === 0) this.#owner[slot] = statement
    if (this.#lead[slot] === 0) this.#setLead(slot, this.#leadBetween(owner, statement))
  }

  /** Attributes what is counted after the last points to the statements of the last samples, and changes nothing. */
  pending(attribute: Attribute): void {
    for (let slot = 0; slot < slotCount; slot++) {
      const owner = this.#owner[slot] as number
      if (owner !== 0) attribute(owner, this.#pendingBytes(slot), this.#events[slot] as number)
    }
  }

  #pendingBytes(slot: number): number {
    return (this.#gap[slot] as number) - (this.#left[slot] as number)
  }

  #begin(slot: number, statement: number): void {
    this.#owner[slot] = statement
    this.#ownStride[slot] = 1
  }

  /** Adjusts the confidence that the slot has one statement. Returns true if it has several that come again. */
  #judge(slot: number, statement: number): boolean {
    const trust = this.#trust[slot] as number
    if (this.#owner[slot] === statement) {
      this.#ownStride[slot] = Math.min((this.#ownStride[slot] as number) * growth, maxOwnStride)
      if (trust < maxTrust) this.#trust[slot] = trust + 1
      else this.#isMixed[slot] = 0
      return false
    }
    const isAgain = this.#rival[slot] === statement
    this.#rival[slot] = statement
    this.#ownStride[slot] = 1
    this.#trust[slot] = Math.max(trust - distrust, 0)
    this.#isMixed[slot] = 1
    return isAgain || trust <= distrust
  }

  /** Adjusts the distance of points, so that samples take a small part of the time of counting. */
  #countSample(slot: number, bytes: number): void {
    const events = this.#events[slot] as number
    this.#sampledEvents += events
    this.#sampledBytes += events * bytes
    if (--this.#untilCheck > 0) return
    const samples = this.#eventsAtCheck === 0 ? firstSamples : samplesPerCheck
    const perSample = (this.#sampledEvents - this.#eventsAtCheck) / samples
    if (perSample < minEventsPerSample) this.#stride = Math.min(this.#stride * 2, maxStride)
    else if (perSample > maxEventsPerSample) this.#stride = Math.max(this.#stride / 2, 1)
    this.#untilCheck = samplesPerCheck
    this.#eventsAtCheck = this.#sampledEvents
  }

  /** Sets the next point after the present event. Returns the bytes up to the last point that the event contains. */
  #nextPoint(slot: number): number {
    const stride = Math.max(this.#stride, this.#ownStride[slot] as number)
    let counted = this.#gap[slot] as number
    let left = this.#left[slot] as number
    // At most the mean of the slot: a few very large events elsewhere must not move the points of small ones apart.
    const meanOfSlot = (counted - left) / (this.#events[slot] as number)
    const meanGap = stride * Math.min(this.#sampledBytes / this.#sampledEvents, meanOfSlot)
    if (left < -2 * meanGap) {
      const skipped = meanGap * Math.floor(-left / meanGap - 1)
      counted += skipped
      left += skipped
    }
    let gap = meanGap * (0.5 + this.#random())
    for (; left + gap <= 0; gap = meanGap * (0.5 + this.#random())) {
      counted += gap
      left += gap
    }
    this.#gap[slot] = gap
    this.#left[slot] = left + gap
    return counted
  }

  #leadBetween(statement: number, other: number): number {
    const words = this.#statements.wordsOf(statement)
    const otherWords = this.#statements.wordsOf(other)
    return words === undefined || otherWords === undefined ? 0 : leadOf(differenceOf(words, otherWords))
  }

  /** Makes the slot lead to others from now on. */
  #setLead(slot: number, lead: number): void {
    if (lead === 0) return
    this.#statements.attribute(this.#owner[slot] as number, this.#pendingBytes(slot), 0)
    this.#clear(slot)
    this.#lead[slot] = lead
    if (++this.#leadCount > maxLeads) this.#forgetLeads()
  }

  /**
   * Begins anew when many slots lead to others, because the statements may have changed, or the messages may begin with
   * random letters. So their first characters are used, and not used, in turn.
   */
  #forgetLeads(): void {
    this.pending(this.#statements.attribute)
    for (let slot = 0; slot < slotCount; slot++) this.#clear(slot)
    this.#lead.fill(0)
    this.#leadCount = 0
    this.#beginIsRandom = !this.#beginIsRandom
  }

  #clear(slot: number): void {
    this.#gap[slot] = 0
    this.#left[slot] = 0
    this.#events[slot] = 0
    this.#owner[slot] = 0
    this.#rival[slot] = 0
    this.#trust[slot] = 0
    this.#isMixed[slot] = 0
  }
}

/** The kinds of leads. 0 is for none. */
const leadKinds = { chars: 1, end: 2, piece: 3, word: 4 } as const
// The bits of a lead: its kind, the place, the number of words or signs after it, the offset after those, and the sign.
const maxKind = 7
const placeShift = 3
const maxPlace = 255
const indexShift = 11
const maxIndex = 255
const offsetShift = 19
const maxOffset = 255
const signShift = 27

/** Returns a difference of statements as a number, or 0 if there is none within reach. */
function leadOf(difference: Difference | undefined): number {
  if (difference === undefined) return 0
  const { kind, place, index = 0, offset = 0, sign = 0 } = difference
  if (place > maxPlace || index > maxIndex || offset > maxOffset) return 0
  return leadKinds[kind] + (place << placeShift) + (index << indexShift) + (offset << offsetShift) + (sign << signShift)
}

function mixed(hash: number): number {
  return Math.imul(hash ^ (hash >>> 16), 0x45d9f3b) >>> 15
}
