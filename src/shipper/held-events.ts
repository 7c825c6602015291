import type { Ledger } from '../accounting/ledger.ts'
import type { Severity } from '../accounting/severity.ts'
import type { BatchQueue } from '../batch/batch-queue.ts'
import type { MemoryBudget } from '../batch/memory-budget.ts'

/** Share of the memory that events may take that are held back, and up to which they are given on. */
const maxHeld = 0.25
const giveUpTo = 0.5
/** What an event that is held back takes besides its JSON, in bytes, about. */
const overheadBytes = 256

/** Who holds events back. */
export interface HeldSource {
  /** Gives them on as there is room for them; resolves when all are given. */
  release(): Promise<void>
  /** Goes on with that, where there was no room. */
  resume(): void
  /** Gives all of them on at once. */
  releaseAllNow(): void
}

export interface HeldEventsDeps {
  readonly memory: MemoryBudget
  readonly ledger: Ledger
  readonly batcher: BatchQueue
  onHeld(): void
  /** A holder has no more. */
  onRemoved(): void
}

/** Events that somebody holds back until it is known what belongs to them: accepted, pending, and within the memory. */
export class HeldEvents {
  readonly #parts: HeldEventsDeps
  readonly #sources = new Set<HeldSource>()
  #heldBytes = 0

  constructor(parts: HeldEventsDeps) {
    this.#parts = parts
  }

  /** Has `holder` give what it holds, when somebody asks for delivery or the process ends. Until `remove`. */
  add(holder: HeldSource): void {
    this.#sources.add(holder)
  }

  remove(holder: HeldSource): void {
    this.#sources.delete(holder)
    this.#parts.onRemoved()
  }

  /** Whether there is memory to hold an event that has so many bytes as JSON. Then it is accepted, until `give`. */
  hold(severity: Severity, bytes: number): boolean {
    const { memory, ledger } = this.#parts
    const heldBytes = bytes + overheadBytes
    if (severity < memory.minSeverity || this.#heldBytes + heldBytes > memory.maxBytes * maxHeld) return false
    if (!memory.reserve(heldBytes)) return false
    this.#heldBytes += heldBytes
    ledger.admitted++
    return true
  }

  /** It is held now. */
  onHeld(): void {
    this.#parts.onHeld()
  }

  /**
   * Whether a held event may come now: many at once must not take the room of what is logged meanwhile. If not, what takes
   * it is sent without further delay, and the holder told when there may be more.
   */
  hasRoom(): boolean {
    const { memory, batcher } = this.#parts
    batcher.spill()
    const hasRoom = memory.usedBytes <= memory.maxBytes * giveUpTo
    if (!hasRoom) void batcher.flush()
    return hasRoom
  }

  /** It is held no longer: whoever takes it accepts it anew. */
  unhold(bytes: number): void {
    const { memory, ledger } = this.#parts
    memory.discharge(bytes + overheadBytes)
    this.#heldBytes -= bytes + overheadBytes
    ledger.admitted--
  }

  /** Has everything given on as there is room for it; `undefined` where nothing is held. */
  release(): Promise<unknown> | undefined {
    return this.#sources.size === 0 ? undefined : Promise.all([...this.#sources].map(holder => holder.release()))
  }

  resume(): void {
    for (const holder of this.#sources) holder.resume()
  }

  releaseAllNow(): void {
    for (const holder of this.#sources) holder.releaseAllNow()
  }
}
