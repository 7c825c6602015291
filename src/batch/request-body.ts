import type { Encoding } from '../http/encodings.ts'
import type { MemoryBudget } from './memory-budget.ts'

/** The request body of a batch if it differs from the lines. Its bytes are charged to the memory budget. */
export class RequestBody {
  readonly #memory: MemoryBudget
  #kept: { readonly encoding: Encoding; readonly bytes: Buffer } | undefined
  /** Bytes charged, while the body is being made and while it is kept. */
  #chargedBytes = 0

  constructor(memory: MemoryBudget) {
    this.#memory = memory
  }

  /** Returns the body kept from an earlier attempt, if it has this encoding. */
  inEncoding(encoding: Encoding): Buffer | undefined {
    return this.#kept?.encoding === encoding ? this.#kept.bytes : undefined
  }

  /**
   * Reserves memory for a body of at most so many bytes, and drops the body of an earlier attempt. Returns false if there
   * is not enough memory. The memory stays charged until `keep` or `drop`.
   */
  reserve(maxBytes: number): boolean {
    if (this.#kept !== undefined) this.drop()
    if (this.#chargedBytes > 0) return true
    if (!this.#memory.reserve(maxBytes)) return false
    this.#chargedBytes = maxBytes
    return true
  }

  /** Keeps the body for the next attempt. */
  keep(encoding: Encoding, bytes: Buffer): void {
    this.drop()
    this.#chargedBytes = bytes.length
    this.#memory.charge(this.#chargedBytes)
    this.#kept = { encoding, bytes }
  }

  drop(): void {
    this.#memory.discharge(this.#chargedBytes)
    this.#chargedBytes = 0
    this.#kept = undefined
  }
}
