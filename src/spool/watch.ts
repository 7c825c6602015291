import { monotonicMs, setTimeout } from '../time.ts'
import type { ClaimState } from './claim.ts'
import type { HeldSegment, SpoolDirectory } from './spool-directory.ts'

/** Something that this process had on disk, and has no more. */
export interface Vanished {
  /** The directory that is gone, or in which files are gone. */
  readonly path: string
  /** Whether these files are gone, or the directory is, or another process has it. */
  readonly what: 'segments' | Exclude<ClaimState, 'held'>
}

const roundEveryMs = 1000
/** A claim that has been renewed so short a time ago is not renewed again at once. */
const renewAgainAfterMs = 20
/** A round looks at files for so long at a time, and takes no more than this share of the time. */
const sliceMs = 5
const maxShare = 0.05

/**
 * Looks once a second whether the directories that are claimed, and the segments for which a batch stands, are still there:
 * a cleaner of old files, a person, or another process may have removed them.
 */
export class Watch {
  readonly #directories: () => readonly SpoolDirectory[]
  readonly #onVanished: (vanished: Vanished) => void
  #timer: NodeJS.Timeout | undefined
  #isLooking = false

  constructor(directories: () => readonly SpoolDirectory[], onVanished: (vanished: Vanished) => void) {
    this.#directories = directories
    this.#onVanished = onVanished
  }

  /** Looks as long as there is a segment to look for. Does not keep the process alive. */
  start(): void {
    if (!this.#isLooking) this.#timer ??= setTimeout(() => this.#look(), roundEveryMs).unref()
  }

  /** Looks at the directories alone, at once: there may be no later. */
  lookNow(): void {
    for (const directory of this.#directories()) if (directory.isDue(renewAgainAfterMs)) this.#renew(directory)
  }

  async #look(): Promise<void> {
    this.#timer = undefined
    this.#isLooking = true
    const busyMs = await this.#round()
    this.#isLooking = false
    if (!this.#directories().some(({ isHeld }) => isHeld)) return
    this.#timer ??= setTimeout(() => this.#look(), Math.max(roundEveryMs, busyMs / maxShare)).unref()
  }

  /** Returns how much time it took, waits not included, in milliseconds. */
  async #round(): Promise<number> {
    let busyMs = 0
    let sinceMs = monotonicMs()
    const rest = async (): Promise<void> => {
      if (monotonicMs() - sinceMs < sliceMs) return
      busyMs += monotonicMs() - sinceMs
      await new Promise(resolve => setTimeout(resolve, 0).unref())
      sinceMs = monotonicMs()
    }
    for (const directory of this.#directories()) {
      await rest()
      if (directory.isReleased) continue
      if (!this.#renew(directory)) continue
      const gone: HeldSegment[] = []
      for (const segment of [...directory.held]) {
        await rest()
        if (segment.isGone()) gone.push(segment)
      }
      // Without a wait in between, so that no line is added to a segment of which it is known that it is gone.
      const confirmed = gone.filter(segment => directory.held.has(segment) && segment.isGone())
      if (confirmed.length === 0 || directory.isReleased) continue
      for (const segment of confirmed) segment.vanish()
      this.#onVanished({ path: directory.path, what: 'segments' })
    }
    return busyMs + monotonicMs() - sinceMs
  }

  /** `false` if the directory is not this process's any more. */
  #renew(directory: SpoolDirectory): boolean {
    const state = directory.renew()
    if (state !== 'held') this.#onVanished({ path: directory.path, what: state })
    return state === 'held'
  }
}
