/** Number of slots; a power of two. */
const slotCount = 2048
/** Number of characters that a slot is chosen by: at the start of a message, or at a place where statements differ. */
const hashedChars = 4
/** Maximum number of times that a shared slot leads to another one. */
const maxDepth = 4
/** Maximum of the confidence that a slot has one statement. Each sample of another statement takes half of it. */
const maxTrust = 63
const distrust = 32
/**
 * Factor by which points of a slot move apart with each sample of the same statement, so that no sample stands for more
 * than a small part of the slot; and the maximum number of events for each sample, on average.
 */
const growth = 1.03
const maxOwnStride = 64
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
  /** Returns the text of a statement, or `undefined` if the statement is not known any more. */
  readonly textOf: (statement: number) => string | undefined
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
 * Slots with several statements are sampled more often. They also learn a place at which the statements differ, and
 * lead to other slots by the characters at that place.
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
  /** The place that leads to other slots: see `placeOf`; 0 for none. */
  readonly #place = new Uint16Array(slotCount)
  #placeCount = 0
  #sampledBytes = 0
  #sampledEvents = 0
  #stride = 1
  #untilCheck = firstSamples
  #eventsAtCheck = 0

  constructor(statements: Statements, random: () => number) {
    this.#statements = statements
    this.#random = random
  }

  /** Returns the slot of an event. `seed` stands for what distinguishes statements besides their message. */
  slotOf(message: unknown, seed: number): number {
    if (typeof message !== 'string') return mixed(seed) & (slotCount - 1)
    let slot = mixed(hashOf(message, 0, seed)) & (slotCount - 1)
    if (this.#place[slot] === 0) return slot
    const readTo = hashedTo
    let words = 0
    let at = 0
    for (let depth = 0; depth < maxDepth && this.#place[slot] !== 0; depth++) {
      const place = this.#place[slot] as number
      const wantedWords = (place - 1) >> offsetBits
      if (wantedWords < words) words = at = 0
      for (; words < wantedWords; words++) at = endOfValue(message, words === 0 ? readTo : at)
      const start = at + ((place - 1) & (2 ** offsetBits - 1))
      slot = mixed(hashOf(message, start, slot + place)) & (slotCount - 1)
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
    if ((this.#left[slot] as number) > 0) return // an event that an accessor has logged meanwhile was the sample
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
    if (this.#place[slot] === 0) this.#lead(slot, this.#placeBetween(owner, statement))
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
    const meanGap = (stride * this.#sampledBytes) / this.#sampledEvents
    let counted = this.#gap[slot] as number
    let left = this.#left[slot] as number
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

  #placeBetween(statement: number, other: number): number {
    const text = this.#statements.textOf(statement)
    const otherText = this.#statements.textOf(other)
    return text === undefined || otherText === undefined ? 0 : placeOf(text, otherText)
  }

  /** Makes the slot lead to others from now on, by the characters at a place. */
  #lead(slot: number, place: number): void {
    if (place === 0) return
    this.#statements.attribute(this.#owner[slot] as number, this.#pendingBytes(slot), 0)
    this.#clear(slot)
    this.#place[slot] = place
    if (++this.#placeCount > slotCount / 2) this.#forgetPlaces()
  }

  /** Begins anew when many slots lead to others, because the statements may have changed. */
  #forgetPlaces(): void {
    this.pending(this.#statements.attribute)
    for (let slot = 0; slot < slotCount; slot++) this.#clear(slot)
    this.#place.fill(0)
    this.#placeCount = 0
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

/** Bits of a place for the number of characters after its word. */
const offsetBits = 8
const maxOffset = 2 ** offsetBits - 2
const maxWords = 255

/**
 * Returns the first place at which two statements differ, as a number: how many words with a value precede it, and how
 * many characters after the last of these. Returns 0 if the statements do not differ, or only beyond such places.
 */
export function placeOf(text: string, other: string): number {
  let words = 0
  let start = 0
  let isValue = false
  const end = Math.min(text.length, other.length)
  let at = 0
  for (; at < end && text.charCodeAt(at) === other.charCodeAt(at); at++) {
    const unit = text.charCodeAt(at)
    if (unit === asterisk) isValue = true
    if (unit !== space || !isValue) continue
    isValue = false
    words++
    start = at
  }
  if ((at === end && text.length === other.length) || words > maxWords || at - start > maxOffset) return 0
  return (words << offsetBits) + (at - start) + 1
}

/**
 * Hashes four characters of a message. The first word with a value is left out, and all that follows, because it
 * varies.
 */
function hashOf(message: string, start: number, seed: number): number {
  const end = start + hashedChars
  if (end > message.length) return hashBeforeValue(message, start, message.length, seed)
  const first = message.charCodeAt(start)
  const second = message.charCodeAt(start + 1)
  const third = message.charCodeAt(start + 2)
  const fourth = message.charCodeAt(start + 3)
  // All four are checked at once. A character above U+00FF may be mistaken for one that shows a value: that only takes time.
  if (mayShowValue(first) | mayShowValue(second) | mayShowValue(third) | mayShowValue(fourth)) {
    return hashBeforeValue(message, start, end, seed)
  }
  hashedTo = end
  return Math.imul(seed ^ (first + (second << 8) + (third << 16) + (fourth << 24)), prime)
}

function hashBeforeValue(message: string, start: number, end: number, seed: number): number {
  let hash = seed
  let hashOfWords = seed
  for (let at = start; at < end; at++) {
    const unit = message.charCodeAt(at)
    if (isOfValue(unit)) {
      hashedTo = at
      return hashOfWords
    }
    hash = Math.imul(hash ^ unit, prime)
    if (unit === space) hashOfWords = hash
  }
  hashedTo = end
  return hash
}

/** The place up to which the last call of `hashOf` found no value. */
let hashedTo = 0

/** Returns the end of the next word with a value. A quoted part is one value, even if it has spaces. */
function endOfValue(message: string, start: number): number {
  const { length } = message
  let at = start
  while (at < length && !isOfValue(message.charCodeAt(at))) at++
  const quote = message.charCodeAt(at)
  if (quote === 0x22 || quote === 0x27 || quote === backquote) {
    const first = at
    do at++
    while (at < length && message.charCodeAt(at) !== quote)
    if (at === length) at = first // it is not closed
  }
  while (at < length && message.charCodeAt(at) !== space) at++
  return at
}

/** True for a character that shows a value: a digit, a quote, `=`, `?` or `@`. */
function isOfValue(unit: number): boolean {
  return unit <= 0xff && mayShowValue(unit) === 1
}

/** Returns 1 for a character that shows a value, and for some characters above U+00FF; otherwise 0. */
function mayShowValue(unit: number): number {
  return showsValue[unit & 0xff] as number
}

const backquote = 0x60
const showsValue = new Uint8Array(0x100)
for (const char of '0123456789"\'`=?@') showsValue[char.charCodeAt(0)] = 1

function mixed(hash: number): number {
  return Math.imul(hash ^ (hash >>> 16), 0x45d9f3b) >>> 15
}

/** Of the hash function FNV-1a. */
const prime = 0x01000193
const space = 0x20
const asterisk = 0x2a
