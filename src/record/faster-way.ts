import { monotonicMs } from '../time.ts'

/** Uses of the chosen way before the other way is tried again. */
const betweenTrials = 8192
/**
 * Uses before the first trial: fewer than before later trials, but enough for code in use from the start to be
 * compiled.
 */
const beforeFirstTrial = 2048
/** Uses of the other way before timing starts, so that its code is compiled, too. */
const warmUps = 128
/** Number of timings of each way in a trial. */
const timings = 16

/**
 * Picks the faster of two ways to the same result, by timing both. Which way is faster depends on the events and on the
 * version of Node, and may change. So both ways are timed again after every 8,192 uses, and earlier timings are
 * forgotten.
 */
export class FasterWay {
  readonly #now: () => number
  #isSecond = false
  /** Uses until the next trial. A trial counts on below zero. */
  #left = beforeFirstTrial
  #startedAtMs = 0
  /** Milliseconds per byte, for each way. */
  readonly #samples: readonly [number[], number[]] = [[], []]

  constructor(now: () => number = () => monotonicMs()) {
    this.#now = now
  }

  /**
   * Returns true if the caller should use the second way this time. The caller calls `end` afterwards, unless the way
   * failed.
   */
  begin(): boolean {
    if (--this.#left >= 0) return this.#isSecond
    if (this.#left >= -warmUps) return !this.#isSecond
    if (this.#left < -warmUps - 2 * timings) {
      this.#decide()
      return this.#isSecond
    }
    this.#startedAtMs = this.#now()
    // Not in strict turns, because two kinds of events may alternate as well.
    return (isOdd(this.#left) !== isOdd(this.#left >> 1)) !== isOdd(this.#left >> 2)
  }

  /** Records the time since `begin`, during which the caller wrote `bytes`. */
  end(isSecond: boolean, bytes: number): void {
    if (this.#left >= -warmUps) return
    this.#samples[isSecond ? 1 : 0].push((this.#now() - this.#startedAtMs) / bytes)
  }

  #decide(): void {
    const [first, second] = this.#samples
    if (first.length > 0 && second.length > 0) this.#isSecond = median(second) < median(first)
    first.length = 0
    second.length = 0
    this.#left = betweenTrials
  }
}

function isOdd(value: number): boolean {
  return (value & 1) === 1
}

function median(samples: number[]): number {
  return samples.sort((a, b) => a - b)[samples.length >> 1] as number
}
