import { milliseconds } from '../text/milliseconds.ts'
import { monotonicMs } from '../time.ts'
import { Courier } from './courier.ts'

/** What somebody has left to deliver when nothing else happens in this thread any more. */
export interface Leftovers {
  /** How long the end of the process may be held up for it, in milliseconds. */
  readonly exitTimeoutMs: number
  /** Where nothing is left to deliver, it is none of them any more. */
  withdrawWhenDone(): void
  /** From now on requests are to be made by the courier; those under way come to nothing. */
  handOver(courier: Courier): void
  /** Starts what may be started; returns the monotonic time to be called again, `Infinity` when it waits for answers. */
  proceed(): number
  isWaitingForAnswers(): boolean
  /** Counts what is left as lost, and says so. */
  giveUp(loss: Loss): void
  /** The courier is of no more use. */
  takeBack(): void
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
export class LastDelivery {
  #courier: Courier | undefined
  #isDelivering = false
  /** How long the end of the process has been held up, in milliseconds. */
  #heldUpMs = 0

  /** Returns when each has been delivered or has been given up. Never throws. */
  deliver(everybody: ReadonlySet<Leftovers>): void {
    if (this.#isDelivering) return // a listener of ours logs, and is heard below
    for (const one of [...everybody]) one.withdrawWhenDone()
    if (everybody.size === 0) return
    this.#isDelivering = true
    const startedAtMs = monotonicMs()
    try {
      this.#courier ??= new Courier()
      deliverBy(this.#courier, everybody, startedAtMs - this.#heldUpMs)
    } catch (error) {
      this.dismiss()
      for (const one of [...everybody]) one.giveUp(withoutWorker(error as Error))
    }
    this.#heldUpMs += monotonicMs() - startedAtMs
    this.#isDelivering = false
  }

  dismiss(): void {
    this.#courier?.dismiss()
    this.#courier = undefined
  }
}

function deliverBy(courier: Courier, everybody: ReadonlySet<Leftovers>, startedAtMs: number): void {
  const handedOver = new Set<Leftovers>()
  const givenUp = new Set<Leftovers>()
  try {
    for (;;) {
      let untilMs = Number.POSITIVE_INFINITY
      for (const one of everybody) {
        if (givenUp.has(one)) continue // and a listener has logged since
        if (!handedOver.has(one)) one.handOver(courier)
        handedOver.add(one)
        const deadlineMs = startedAtMs + one.exitTimeoutMs
        const isLate = monotonicMs() >= deadlineMs
        const wakeAtMs = isLate ? deadlineMs : one.proceed()
        if (!isLate && (one.isWaitingForAnswers() || wakeAtMs < deadlineMs)) {
          untilMs = Math.min(untilMs, wakeAtMs, deadlineMs)
        } else {
          givenUp.add(one)
          const why = wakeAtMs === Number.POSITIVE_INFINITY ? notRead : notTaken
          one.giveUp(isLate ? outOfTime(one.exitTimeoutMs) : why)
        }
      }
      if (untilMs === Number.POSITIVE_INFINITY) return
      courier.wait(untilMs)
    }
  } finally {
    for (const one of handedOver) one.takeBack()
  }
}
