import { monotonicMs } from '../time.ts'

/** Uses of one way before the other is tried again. */
const betweenTrials = 8192
/** The first trial comes sooner, yet when code that is used from the start has been compiled. */
const beforeFirstTrial = 2048
/** Uses of the other way before it is timed, so that its code is compiled, too. */
const warmUps = 128
/** Each way is timed so many times. */
const timings = 16

/**
 * Picks the faster of two ways to the same result by timing both. Which one that is depends on the events and on the
 * version of Node, and may change: both are timed again after every 8,192 uses, and nothing else is remembered.
 */
export class FasterWay {
  readonly #now: () => number
  #isSecond = false
  /** Uses until the next trial; a trial goes on below zero. */
  #left = beforeFirstTrial
  #startedAtMs = 0
  /** Milliseconds per byte, of each way. */
  readonly #samples: readonly [number[], number[]] = [[], []]

  constructor(now: () => number = () => monotonicMs()) {
    this.#now = now
  }

  /** Returns whether to use the second way this time. Call `end` afterwards, unless that way has failed. */
  begin(): boolean {
    if (--this.#left >= 0) return this.#isSecond
    if (this.#left >= -warmUps) return !this.#isSecond
    if (this.#left < -warmUps - 2 * timings) {
      this.#decide()
      return this.#isSecond
    }
    this.#startedAtMs = this.#now()
    // Not in strict turns: two kinds of events may take turns as well.
    return (isOdd(this.#left) !== isOdd(this.#left >> 1)) !== isOdd(this.#left >> 2)
  }

  /** Takes note of the time since `begin`, in which `bytes` were written. */
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
