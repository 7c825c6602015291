import { afterSign, hashOfChars, hashOfWord, lookFrom, nextWord } from './constant-words.ts'
import { type Difference, differenceOf, type StatementWords, signs, wordThatDiffers } from './statement-difference.ts'

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
 * Average number of events for each sample of a slot, if samples take little time, as parts of all events. So one
 * sample stands for few bytes beside a statement that costs much. The first part is for a slot of which little is
 * known, or that has several statements. With each sample of the same statement it grows, up to the second part.
 */
const minShareOfEvents = 1 / 8192
const maxShareOfEvents = 1 / 2048
const growth = 1.01
/** Bounds of these numbers of events. */
const maxFirstStride = 8
const minOwnStride = 4
const maxOwnStride = 256
/** Maximum number of events for each sample, on average, whatever time samples take. */
const maxStride = 1024
/** Time that samples may take, in nanoseconds for each event. */
const nsPerEvent = 20
/** Time that may be saved up. The first samples have it at once, because the first events are looked at more closely. */
const maxSavedNs = 30_000_000
/** Points move apart when less time than this is saved: by this power of 2 when none is left. */
const enoughNs = (3 / 8) * maxSavedNs
const stepsOfPace = 6
/** Maximum of the time that samples have taken too long. */
const maxOwedNs = maxSavedNs / 8
/** Minimum number of samples of other statements before a slot leads to others; they are counted modulo 256. */
const minShared = 4
const maxShared = 255
/** Approximate time to compare two statements, in nanoseconds. */
const nsOfComparison = 5000
/**
 * Messages seem to begin with random characters if they are in so many slots, and in so many for each statement. For 240
 * statements there are not as many slots: those may all begin differently.
 */
const minRandomSlots = 256
const randomSlotsPerStatement = 9
/** If more events have come for each slot, few of the messages have random beginnings. */
const maxEventsPerSlot = 8
/** Minimum number of events after which all slots begin anew once more. */
const minKeptEvents = 100_000

/** Receives the counts of a slot. */
export type Attribute = (statement: number, bytes: number, events: number) => void

/** The statements that the slots refer to by number. */
interface Statements {
  readonly attribute: Attribute
  /** Returns the number of statements. */
  readonly count: () => number
  /**
   * Returns the words that the messages of a statement have in common; `undefined` if the statement is no longer known.
   */
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
 *
 * Samples take a bounded part of the time: see `#countSample`. Their time is estimated, not measured, so that the same
 * events have the same samples everywhere.
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
  /** Number of events for each sample, on average, if samples take little time. It grows while one statement comes. */
  readonly #ownStride = new Float32Array(slotCount)
  /** 1 if a sample was of another statement than the owner. */
  readonly #isMixed = new Uint8Array(slotCount)
  /** Number of samples that showed that the slot has several statements. */
  readonly #shared = new Uint8Array(slotCount)
  /** The place that leads to other slots: see `leadOf`; 0 for none. */
  readonly #lead = new Uint32Array(slotCount)
  #leadCount = 0
  /** Number of events before which slots do not begin anew. */
  #keepUntil = 0
  /** Number of slots that have a statement. */
  #begun = 0
  /** The lead that was followed last to the present slot; 0 for none. */
  #followed = 0
  /** True if the first characters of messages are not used, because they may be those of random identifiers. */
  #beginIsRandom = false
  #sampledBytes = 0
  #sampledEvents = 0
  /** Factor by which points of all slots are farther apart, because samples have taken too long. */
  #pace = 1
  /** Time that samples may take at present. Negative after they have taken too long. */
  #savedNs = maxSavedNs

  constructor(statements: Statements, random: () => number) {
    this.#statements = statements
    this.#random = random
  }

  /**
   * Returns the slot of an event by its message, or its name. `seed` stands for everything else that distinguishes
   * statements.
   */
  slotOf(message: string, seed: number): number {
    const begin = this.#beginIsRandom ? seed : hashOfChars(message, 0, seed)
    const slot = mixed(begin) & (slotCount - 1)
    this.#followed = 0
    return this.#lead[slot] === 0 ? slot : this.#slotBehind(slot, message)
  }

  /** Returns the slot to which a slot leads. */
  #slotBehind(first: number, message: string): number {
    let slot = first
    let lead = this.#lead[slot] as number
    let wordsFrom = -1
    let words = 0
    let signsFrom = -1
    let sign = 0
    let passed = 0
    let at = 0
    for (let depth = 0; lead !== 0 && depth < maxDepth; depth++) {
      this.#followed = lead
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

  /** Returns the statement that has nearly all events of a slot, or 0 if there is none. */
  trustedOwnerOf(slot: number): number {
    return (this.#trust[slot] as number) > distrust ? (this.#owner[slot] as number) : 0
  }

  /** Counts an event. Returns true if the event is a sample; then `settle` must be called. */
  isSample(slot: number, bytes: number): boolean {
    this.#events[slot] = (this.#events[slot] as number) + 1
    const left = (this.#left[slot] as number) - bytes
    this.#left[slot] = left
    return left <= 0
  }

  /** Attributes the counts of the slot since the last point to the statement of a sample, which took `ns` to find. */
  settle(slot: number, bytes: number, statement: number, ns: number): void {
    // An event that an accessor has logged meanwhile was the sample, and may have made the slot lead to others.
    if ((this.#left[slot] as number) > 0 || this.#events[slot] === 0) return
    const owner = this.#owner[slot] as number
    if (owner === 0) this.#begin(slot, statement)
    const isShared = owner !== 0 && this.#judge(slot, statement)
    this.#countSample(slot, bytes, ns)
    const counted = this.#nextPoint(slot)
    // A point is more likely to meet a large event. In a mixed slot, each stands for as many as have its bytes.
    const events = this.#isMixed[slot] === 0 ? (this.#events[slot] as number) : counted / bytes
    this.#events[slot] = 0
    this.#statements.attribute(statement, counted, events)
    if (owner === 0 && this.#hasRandomBegins()) this.#forgetLeads()
    else if (isShared) this.#share(slot, owner, statement)
  }

  /** Learns how the statement of a sample differs from the owner of its slot. */
  #share(slot: number, owner: number, statement: number): void {
    if (this.#trust[slot] === 0) this.#owner[slot] = statement
    const count = ((this.#shared[slot] as number) + 1) & maxShared
    this.#shared[slot] = count
    // Less and less often, because the statements may have the same words.
    if (count < minShared || (count & (count - 1)) !== 0) return
    if (this.#lead[slot] === 0 && this.#hasRoomForLeads()) this.#setLead(slot, this.#leadBetween(owner, statement))
  }

  /** Attributes the counts after the last points to the statements of the last samples. Changes nothing. */
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
    this.#ownStride[slot] = this.#firstStride()
    this.#begun++
  }

  /** Returns the events for each sample of a slot of which little is known. */
  #firstStride(): number {
    return Math.min(Math.max(this.#sampledEvents * minShareOfEvents, 1), maxFirstStride)
  }

  /** True if messages begin with random characters: they are in far more slots than there are statements. */
  #hasRandomBegins(): boolean {
    if (this.#beginIsRandom || this.#begun <= minRandomSlots || !this.#mayForget()) return false
    const events = this.#sampledEvents - this.#keepUntil
    return this.#begun > randomSlotsPerStatement * this.#statements.count() && events < maxEventsPerSlot * this.#begun
  }

  /** Adjusts the confidence that the slot has one statement. Returns true if it has several that come again. */
  #judge(slot: number, statement: number): boolean {
    const trust = this.#trust[slot] as number
    if (this.#owner[slot] === statement) {
      const max = Math.min(Math.max(this.#sampledEvents * maxShareOfEvents, minOwnStride), maxOwnStride)
      this.#ownStride[slot] = Math.min((this.#ownStride[slot] as number) * growth, max)
      if (trust < maxTrust) this.#trust[slot] = trust + 1
      else this.#isMixed[slot] = 0
      return false
    }
    const isAgain = this.#rival[slot] === statement
    this.#rival[slot] = statement
    this.#ownStride[slot] = this.#firstStride()
    this.#trust[slot] = Math.max(trust - distrust, 0)
    this.#isMixed[slot] = 1
    return isAgain || trust <= distrust
  }

  /**
   * Adjusts the distance of points, so that samples take a small part of the time of counting. Each event saves a little
   * time for samples.
   */
  #countSample(slot: number, bytes: number, ns: number): void {
    const events = this.#events[slot] as number
    this.#sampledEvents += events
    this.#sampledBytes += events * bytes
    this.#savedNs = Math.max(Math.min(this.#savedNs + nsPerEvent * events, maxSavedNs) - ns, -maxOwedNs)
    this.#pace = this.#savedNs > enoughNs ? 1 : 2 ** ((stepsOfPace * (enoughNs - this.#savedNs)) / enoughNs)
  }

  /** Sets the next point after the present event. Returns the bytes up to the last point that the event contains. */
  #nextPoint(slot: number): number {
    const stride = Math.min(this.#pace * (this.#ownStride[slot] as number), maxStride)
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

  /** True if one more slot may lead to others. If too many do, all slots begin anew from time to time. */
  #hasRoomForLeads(): boolean {
    if (this.#leadCount < maxLeads) return true
    if (this.#mayForget()) this.#forgetLeads()
    return false
  }

  #mayForget(): boolean {
    return this.#sampledEvents >= this.#keepUntil
  }

  #leadBetween(statement: number, other: number): number {
    this.#savedNs -= nsOfComparison
    const words = this.#statements.wordsOf(statement)
    const otherWords = this.#statements.wordsOf(other)
    if (words === undefined || otherWords === undefined) return 0
    const lead = leadOf(differenceOf(words, otherWords))
    // The messages of a slot are alike at the place by which they came to it.
    return lead === this.#followed ? leadOf(wordThatDiffers(words, otherWords)) : lead
  }

  /** Makes the slot lead to others from now on. */
  #setLead(slot: number, lead: number): void {
    if (lead === 0) return
    this.#statements.attribute(this.#owner[slot] as number, this.#pendingBytes(slot), 0)
    this.#clear(slot)
    this.#lead[slot] = lead
    this.#leadCount++
    this.#begun--
  }

  /**
   * Begins anew when many slots lead to others, because the statements may have changed, or the messages may begin with
   * random letters. So their first characters are used, and not used, in turn. If samples have taken too long, not each
   * slot begins with one.
   */
  #forgetLeads(): void {
    this.pending(this.#statements.attribute)
    const meanGap = (this.#pace - 1) * (this.#sampledBytes / this.#sampledEvents)
    for (let slot = 0; slot < slotCount; slot++) {
      this.#clear(slot)
      this.#gap[slot] = this.#left[slot] = meanGap * this.#random()
    }
    this.#lead.fill(0)
    this.#leadCount = 0
    this.#begun = 0
    this.#keepUntil = this.#sampledEvents + minKeptEvents
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
    this.#shared[slot] = 0
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
