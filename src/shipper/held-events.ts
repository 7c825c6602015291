import type { Ledger } from '../accounting/ledger.ts'
import type { Severity } from '../accounting/severity.ts'
import type { BatchQueue } from '../batch/batch-queue.ts'
import type { MemoryBudget } from '../batch/memory-budget.ts'

/**
 * Shares of the memory budget: the maximum for held events, and the use of memory up to which held events are released.
 */
const maxHeldShare = 0.25
const releaseUpTo = 0.5
/** Estimated memory of a held event besides its JSON, in bytes. */
export const heldOverheadBytes = 256

/**
 * Number of times that every source is asked at a flush: an event that one source releases may be held by another. Records
 * that waited for their resource may then be summed up (`collapse`).
 */
const releaseRounds = 2

/** A source that holds events. */
export interface HeldSource {
  /** Releases the held events as memory allows. Resolves when all of them are released. */
  release(): Promise<void>
  /** Continues a release that stopped for lack of memory. */
  resume(): void
  /** Releases all held events at once. */
  releaseAllNow(): void
}

/** A source of events that are not held, but late: something else keeps them from reaching the shipper. */
export interface LateSource {
  isLate(): boolean
  passOnNow(): void
}

interface HeldEventsDeps {
  readonly memory: MemoryBudget
  readonly ledger: Ledger
  readonly batchQueue: BatchQueue
  onHeld(): void
  /** Called when a source holds no more events, or none of its events is late. */
  onRemoved(): void
}

/**
 * Events that wait until their resource is known, until an event of their trace releases them (`hold`), or until a
 * summary replaces them (`collapse`). Held events are accepted and pending, and count toward the memory budget.
 */
export class HeldEvents {
  readonly #deps: HeldEventsDeps
  readonly #sources = new Set<HeldSource>()
  readonly #lateSources = new Set<LateSource>()
  #heldBytes = 0
  /** The release under way, and the one after it, for all callers of meanwhile: many may give up in an outage. */
  #releasing: Promise<void> | undefined
  #nextRelease: Promise<void> | undefined

  constructor(deps: HeldEventsDeps) {
    this.#deps = deps
  }

  /**
   * Registers a source until `remove`. The source is asked to release its events at a flush and at the end of the
   * process.
   */
  add(source: HeldSource): void {
    this.#sources.add(source)
  }

  remove(source: HeldSource): void {
    this.#sources.delete(source)
    this.#deps.onRemoved()
  }

  /**
   * Returns true if there is memory to hold an event of so many bytes as JSON. The event is then accepted, until
   * `unhold`.
   */
  hold(severity: Severity, bytes: number): boolean {
    const { memory, ledger } = this.#deps
    const heldBytes = bytes + heldOverheadBytes
    if (severity < memory.minSeverity || this.#heldBytes + heldBytes > memory.maxBytes * maxHeldShare) return false
    if (!memory.reserve(heldBytes)) return false
    this.#heldBytes += heldBytes
    ledger.admitted++
    return true
  }

  /** Notes that an event is held now. */
  onHeld(): void {
    this.#deps.onHeld()
  }

  /**
   * Returns true if a held event may be released now: held events must not take the memory of events that are being
   * logged. If false, the batches in memory are sent without further delay, and `resume` is called later.
   */
  hasRoom(): boolean {
    const { memory, batchQueue } = this.#deps
    batchQueue.spill()
    const hasRoom = memory.usedBytes <= memory.maxBytes * releaseUpTo
    if (!hasRoom) void batchQueue.flush()
    return hasRoom
  }

  /** Stops counting a held event. The shipper that takes the event counts it again. */
  unhold(bytes: number): void {
    const { memory, ledger } = this.#deps
    memory.discharge(bytes + heldOverheadBytes)
    this.#heldBytes -= bytes + heldOverheadBytes
    ledger.unhold()
  }

  /** Asks every source to release its events as memory allows. Returns `undefined` if no source holds events. */
  release(): Promise<void> | undefined {
    if (this.#sources.size === 0) return undefined
    if (this.#releasing === undefined) {
      this.#releasing = this.#releaseInRounds().finally(() => {
        this.#releasing = undefined
      })
      return this.#releasing
    }
    for (const source of [...this.#sources]) void source.release() // what is held since then need not wait
    this.#nextRelease ??= this.#releaseNext(this.#releasing)
    return this.#nextRelease
  }

  async #releaseNext(releasing: Promise<void>): Promise<void> {
    await releasing
    this.#nextRelease = undefined
    await this.release()
  }

  async #releaseInRounds(): Promise<void> {
    for (let round = 0; round < releaseRounds; round++) {
      await Promise.all([...this.#sources].map(source => source.release()))
    }
  }

  /** Notes that an event of a source is late. The end of the process does not wait for it, but takes it. */
  onLate(source: LateSource): void {
    this.#lateSources.add(source)
    this.#deps.onHeld()
  }

  /** Notes that a source may have no late event any more. */
  onCaughtUp(): void {
    this.#deps.onRemoved()
  }

  /** Returns true if an event is late. Forgets each source that has caught up: a shared shipper has many, one after another. */
  areLate(): boolean {
    for (const source of this.#lateSources) if (!source.isLate()) this.#lateSources.delete(source)
    return this.#lateSources.size > 0
  }

  /** Takes the late events at the end of the process. */
  takeLate(): void {
    for (const source of [...this.#lateSources]) source.passOnNow()
  }

  resume(): void {
    for (const source of [...this.#sources]) source.resume() // a source may be removed, and added again
  }

  releaseAllNow(): void {
    for (let round = 0; round < releaseRounds; round++) {
      for (const source of [...this.#sources]) source.releaseAllNow()
    }
  }
}
