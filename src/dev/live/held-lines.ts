import type { Entry } from '../event/entry.ts'

/** Maximum memory of the lines that pinned lists hold, in all lists together. */
const maxHeldBytes = 32 * 1024 * 1024

/** Bounds the memory of all lines that pinned lists hold after their events are forgotten. */
export class HeldBudget {
  #bytes = 0

  charge(bytes: number): boolean {
    if (this.#bytes + bytes > maxHeldBytes) return false
    this.#bytes += bytes
    return true
  }

  free(bytes: number): void {
    this.#bytes -= bytes
  }
}

export interface HeldEvent {
  readonly entry: Entry
  readonly line: string
}

/** The forgotten events of one pinned list that can still be shown. */
export class HeldLines {
  readonly #budget: HeldBudget
  readonly #held = new Map<number, HeldEvent>()

  constructor(budget: HeldBudget) {
    this.#budget = budget
  }

  /** Holds an event that is being forgotten, if there is room. */
  hold(entry: Entry): void {
    if (this.#held.has(entry.n) || !this.#budget.charge(entry.bytes)) return
    this.#held.set(entry.n, { entry, line: entry.line })
  }

  find(n: number): HeldEvent | undefined {
    return this.#held.get(n)
  }

  clear(): void {
    for (const { entry } of this.#held.values()) this.#budget.free(entry.bytes)
    this.#held.clear()
  }
}
