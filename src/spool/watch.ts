import { monotonicMs, setTimeout } from '../time.ts'
import type { ClaimState } from './claim.ts'
import type { NeededSegment, SpoolDirectory } from './spool-directory.ts'

/** Files or a directory that this process had on disk and lost. */
export interface Vanished {
  /** The directory that is gone, or that has lost files. */
  readonly path: string
  /** `segments` if files are gone, `removed` if the directory is gone, `taken` if another process has the directory. */
  readonly what: 'segments' | Exclude<ClaimState, 'held'>
}

const roundEveryMs = 1000
/** Time since the last renewal from which `renewNow` renews a claim again, in milliseconds. */
const renewAgainAfterMs = 20
/** A round checks files for `sliceMs` at a time, and uses at most this share of the time. */
const sliceMs = 5
const maxShare = 0.05

/**
 * Checks once a second that the claimed directories, and the segments that batches need, still exist. A cleaner of old
 * files, a person, or another process may have removed them.
 */
export class Watch {
  readonly #directories: () => readonly SpoolDirectory[]
  readonly #onVanished: (vanished: Vanished) => void
  #timer: NodeJS.Timeout | undefined
  #isChecking = false

  constructor(directories: () => readonly SpoolDirectory[], onVanished: (vanished: Vanished) => void) {
    this.#directories = directories
    this.#onVanished = onVanished
  }

  /** Starts the checks, which go on as long as a batch needs a segment. They do not keep the process alive. */
  start(): void {
    if (!this.#isChecking) this.#timer ??= setTimeout(() => this.#check(), roundEveryMs).unref()
  }

  /** Renews the claims of the directories now, without checking files: there may be no later chance. */
  renewNow(): void {
    for (const directory of this.#directories()) if (directory.isDue(renewAgainAfterMs)) this.#renew(directory)
  }

  async #check(): Promise<void> {
    this.#timer = undefined
    this.#isChecking = true
    const busyMs = await this.#round()
    this.#isChecking = false
    if (!this.#directories().some(({ isNeeded }) => isNeeded)) return
    this.#timer ??= setTimeout(() => this.#check(), Math.max(roundEveryMs, busyMs / maxShare)).unref()
  }

  /** Returns the time spent, without waits, in milliseconds. */
  async #round(): Promise<number> {
    let busyMs = 0
    let sinceMs = monotonicMs()
    const isOver = (): boolean => monotonicMs() - sinceMs >= sliceMs // asked for each file: no promise is made for it
    const rest = async (): Promise<void> => {
      busyMs += monotonicMs() - sinceMs
      await new Promise(resolve => setTimeout(resolve, 0).unref())
      sinceMs = monotonicMs()
    }
    for (const directory of this.#directories()) {
      if (isOver()) await rest()
      if (directory.isReleased) continue
      if (!this.#renew(directory)) continue
      const gone: NeededSegment[] = []
      for (const segment of [...directory.needed]) {
        if (isOver()) await rest()
        if (segment.isGone()) gone.push(segment)
      }
      // Checked again without a wait before `vanish`, so that no line is added to a segment known to be gone.
      const confirmed = gone.filter(segment => directory.needed.has(segment) && segment.isGone())
      if (confirmed.length === 0 || directory.isReleased) continue
      for (const segment of confirmed) segment.vanish()
      this.#onVanished({ path: directory.path, what: 'segments' })
    }
    return busyMs + monotonicMs() - sinceMs
  }

  /** Returns false if the directory no longer belongs to this process. */
  #renew(directory: SpoolDirectory): boolean {
    const state = directory.renew()
    if (state !== 'held') this.#onVanished({ path: directory.path, what: state })
    return state === 'held'
  }
}
