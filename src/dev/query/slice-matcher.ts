import { monotonicMs } from '../../time.ts'
import { Candidate } from '../event/candidate.ts'
import type { Entry } from '../event/entry.ts'
import type { CompiledQuery } from './compile-query.ts'
import { RegexGuard } from './regex-guard.ts'

/** Maximum time of one slice, in milliseconds. Requests are served between slices. */
const maxSliceMs = 6
/** Number of bytes of lines after which the clock is read. */
const bytesPerCheck = 16_384
/** Number that is added to the length of each line, for the time that an entry takes anyway. */
const bytesPerEntry = 256
/** Maximum time of a slice with patterns, in milliseconds, and that of the second attempt at the same entry. */
const maxGuardedMs = [50, 75]

export interface Matches {
  readonly matched: Entry[]
  /** The entries that match the query without its clauses about levels. */
  readonly anyLevel: Entry[]
  /** The entries that were forgotten before they could be tested. */
  readonly lost: Entry[]
}

export function noMatches(): Matches {
  return { matched: [], anyLevel: [], lost: [] }
}

/** Tests entries in slices of a few milliseconds. */
export class SliceMatcher {
  readonly #query: CompiledQuery
  readonly #guard: RegexGuard | undefined
  /** Number of times that the entry in `#stopped` has taken too long. */
  #timeouts = 0
  #stopped: Entry | undefined
  #at = 0

  constructor(query: CompiledQuery) {
    this.#query = query
    this.#guard = query.mayBeSlow ? new RegexGuard() : undefined
  }

  /** True if a pattern of the query has taken too long. All later entries count as not matching. */
  get isTooSlow(): boolean {
    return this.#timeouts >= maxGuardedMs.length
  }

  /**
   * Tests entries from one place on, in steps of 1 or -1, until the end of the array or of the slice. Adds the matching
   * ones to `found`. Returns the place of the next entry.
   */
  run(entries: readonly Entry[], start: number, step: 1 | -1, found: Matches): number {
    const end = step === 1 ? entries.length : -1
    this.#at = start
    if (this.#guard === undefined) this.#test(entries, end, step, found)
    else if (!this.isTooSlow) this.#runGuarded(this.#guard, entries, found, () => this.#test(entries, end, step, found))
    return this.isTooSlow ? end : this.#at
  }

  /** Tests a slice. If an entry takes too long, the next slice begins with it once more, and takes longer. */
  #runGuarded(guard: RegexGuard, entries: readonly Entry[], found: Matches, test: () => void): void {
    if (this.#stopped !== entries[this.#at]) this.#timeouts = 0
    if (guard.run(test, maxGuardedMs[this.#timeouts] as number)) return
    const stopped = entries[this.#at]
    this.#timeouts = stopped === this.#stopped ? this.#timeouts + 1 : 1
    this.#stopped = stopped
    // The entry is tested again, so it may not be among the tested ones, wherever the run was stopped.
    for (const tested of [found.matched, found.anyLevel, found.lost]) if (tested.at(-1) === stopped) tested.pop()
  }

  #test(entries: readonly Entry[], end: number, step: number, { matched, anyLevel, lost }: Matches): void {
    const { testAnyLevel, testLevel } = this.#query
    const stopAt = monotonicMs() + maxSliceMs
    for (let untilCheck = bytesPerCheck; this.#at !== end; this.#at += step) {
      const entry = entries[this.#at] as Entry
      if (!entry.isKept) {
        lost.push(entry)
        continue
      }
      untilCheck -= entry.lineBytes + bytesPerEntry
      if (untilCheck < 0) {
        if (monotonicMs() > stopAt) return
        untilCheck = bytesPerCheck
      }
      const candidate = new Candidate(entry)
      if (!testAnyLevel(candidate)) continue
      const isMatch = testLevel(candidate)
      anyLevel.push(entry)
      if (isMatch) matched.push(entry)
    }
  }
}
