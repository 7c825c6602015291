import { WorkerHttpClient } from '../http/worker-client.ts'
import { milliseconds } from '../text/milliseconds.ts'
import { monotonicMs } from '../time.ts'

/** What somebody has left to deliver when nothing else happens in this thread any more. */
export interface Drainable {
  /** How long the end of the process may be held up for it, in milliseconds. */
  readonly exitTimeoutMs: number
  /** Where nothing is left to deliver, it is none of them any more. */
  unregisterIfIdle(): void
  /** From now on requests are to be made by the courier; those under way come to nothing. */
  beginDrain(courier: WorkerHttpClient): void
  /** Starts what may be started; returns the monotonic time to be called again, `Infinity` when it waits for answers. */
  step(): number
  isWaitingForAnswers(): boolean
  /** Counts what is left as lost, and says so. */
  dropRemaining(loss: Loss): void
  /** The courier is of no more use. */
  endDrain(): void
}

/** How a loss is told of: “… could not be delivered {how}, … {remedy}” */
export interface Loss {
  readonly how: string
  readonly remedy: string
  /** They waited to be sent, for whatever reason. */
  readonly isWaiting?: boolean
}

export function outOfTime(timeoutMs: number): Loss {
  return {
    how: timeoutMs > 0 ? `within ${milliseconds(timeoutMs)} before the end` : 'in the time there was',
    remedy:
      'Find out why the service is slow or does not take them, or allow more time (flushTimeoutMs, exitTimeoutMs).',
    isWaiting: true,
  }
}

const notTaken: Loss = {
  how: 'before the end of the process, as the service does not take them now',
  remedy: 'Await flush() where there is time, or find out why the service is in trouble.',
  isWaiting: true,
}

const notRead: Loss = {
  how: 'before the end of the process, as they cannot be read from the spool now',
  remedy: 'Check its disk.',
}

function withoutWorker({ code, message }: NodeJS.ErrnoException): Loss {
  return {
    how: `at the end of the process, as there is no worker thread to do it (${code ?? message})`,
    remedy: 'Allow worker threads (--allow-worker), or await flush() before process.exit().',
  }
}

/** Delivers by a worker what is left when the process ends: nothing else in this thread gets a turn any more. */
export class ExitDrain {
  #client: WorkerHttpClient | undefined
  #isDelivering = false
  /** How long the end of the process has been held up, in milliseconds. */
  #heldUpMs = 0

  /** Returns when each has been delivered or has been given up. Never throws. */
  drainables(everybody: ReadonlySet<Drainable>): void {
    if (this.#isDelivering) return // a listener of ours logs, and is heard below
    for (const one of [...everybody]) one.unregisterIfIdle()
    if (everybody.size === 0) return
    this.#isDelivering = true
    const startedAtMs = monotonicMs()
    try {
      this.#client ??= new WorkerHttpClient()
      deliverBy(this.#client, everybody, startedAtMs - this.#heldUpMs)
    } catch (error) {
      this.end()
      for (const one of [...everybody]) one.dropRemaining(withoutWorker(error as Error))
    }
    this.#heldUpMs += monotonicMs() - startedAtMs
    this.#isDelivering = false
  }

  end(): void {
    this.#client?.terminate()
    this.#client = undefined
  }
}

function deliverBy(courier: WorkerHttpClient, everybody: ReadonlySet<Drainable>, startedAtMs: number): void {
  const handedOver = new Set<Drainable>()
  const givenUp = new Set<Drainable>()
  try {
    for (;;) {
      let untilMs = Number.POSITIVE_INFINITY
      for (const one of everybody) {
        if (givenUp.has(one)) continue // and a listener has logged since
        if (!handedOver.has(one)) one.beginDrain(courier)
        handedOver.add(one)
        const deadlineMs = startedAtMs + one.exitTimeoutMs
        const isLate = monotonicMs() >= deadlineMs
        const wakeAtMs = isLate ? deadlineMs : one.step()
        if (!isLate && (one.isWaitingForAnswers() || wakeAtMs < deadlineMs)) {
          untilMs = Math.min(untilMs, wakeAtMs, deadlineMs)
        } else {
          givenUp.add(one)
          const why = wakeAtMs === Number.POSITIVE_INFINITY ? notRead : notTaken
          one.dropRemaining(isLate ? outOfTime(one.exitTimeoutMs) : why)
        }
      }
      if (untilMs === Number.POSITIVE_INFINITY) return
      courier.wait(untilMs)
    }
  } finally {
    for (const one of handedOver) one.endDrain()
  }
}
