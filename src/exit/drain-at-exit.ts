import { WorkerHttpClient, workerDescriptors } from '../http/worker-client.ts'
import { milliseconds } from '../text/milliseconds.ts'
import { descriptorsRemedy, isOutOfDescriptors } from '../text/out-of-descriptors.ts'
import { monotonicMs } from '../time.ts'

/** Work that must still be delivered after the event loop has stopped. */
export interface Drainable {
  /** Maximum time that this work may delay the end of the process, in milliseconds. */
  readonly exitTimeoutMs: number
  /** Settles what needs no request, and unregisters this work if nothing is left to deliver. */
  settleWithoutRequests(): void
  /**
   * Makes all requests through the worker client from now on, for so many milliseconds. Requests in flight are broken off,
   * and made again.
   */
  beginDrain(client: WorkerHttpClient, timeoutMs: number): void
  /**
   * Starts the requests that are allowed now. Returns the monotonic time for the next call; `Infinity` if only an
   * answer can change anything.
   */
  step(): number
  isWaitingForAnswers(): boolean
  /** Gives up the remaining events: drops and reports each event that cannot be handed off to another process. */
  dropRemaining(loss: LossWords): void
  /** Stops using the worker client. */
  endDrain(): void
}

/** The words for a loss in a warning: “… could not be delivered {how}. They are dropped. {remedy}” */
export interface LossWords {
  readonly how: string
  readonly remedy: string
  /** True if the events were waiting to be sent, for any reason. */
  readonly isWaiting?: boolean
  /** True if the events were logged while the process ended, when each is given up alone. */
  readonly isLoggedAtEnd?: boolean
}

export function outOfTime(timeoutMs: number): LossWords {
  return {
    how: timeoutMs > 0 ? `within ${milliseconds(timeoutMs)}` : 'in time',
    remedy: 'Find out why the service is slow or unavailable, or allow more time (flushTimeoutMs, exitTimeoutMs).',
    isWaiting: true,
  }
}

/** The words if the time was spent on events that were logged whenever others had been delivered. */
export function loggedWithoutEnd(timeoutMs: number): LossWords {
  return {
    how: `within ${milliseconds(timeoutMs)}, because events are logged whenever others are delivered`,
    remedy: 'Log deliveries and requests to another transport.',
    isWaiting: true,
  }
}

/** The words if the end of the process must not be delayed. */
const withoutTime: LossWords = {
  how: 'before the process ended',
  remedy: 'Await close() before the process ends, or allow time for delivery at the end (exitTimeoutMs).',
  isWaiting: true,
}

const notTaken: LossWords = {
  how: 'before the process ended',
  remedy: 'Find out why the service is unavailable, or await flush() before the process ends.',
  isWaiting: true,
}

const notRead: LossWords = {
  how: 'before the process ended, because the spool cannot be read',
  remedy: 'Check the disk of the spool.',
}

function withoutWorker(error: NodeJS.ErrnoException): LossWords {
  const { code, message } = error
  const isForbidden = code === 'ERR_ACCESS_DENIED'
  const otherwise = isForbidden ? 'Allow worker threads (--allow-worker)' : 'Raise the limits of memory and threads'
  return {
    how: `before the process ended, because no worker thread could be started (${code ?? message})`,
    remedy: isOutOfDescriptors(error)
      ? `A thread and its connection need ${workerDescriptors} free file descriptors. ${descriptorsRemedy}`
      : `${otherwise}, or await flush() before process.exit().`,
  }
}

/** Time for V8's compiler threads to end their work after a drain, in milliseconds. Busy cores delay them. */
const compilersMs = 10

/** Delivers remaining events through a worker thread when the process ends and the event loop has stopped. */
export class ExitDrain {
  #client: WorkerHttpClient | undefined
  #isDraining = false
  /** True if a worker thread has been started. */
  #hasWorked = false
  /** True if events have been drained. Those of later calls were logged while the process ended. */
  #hasDrained = false
  /** Total time by which the end of the process has been delayed, in milliseconds. */
  #delayedMs = 0

  /** Returns when all work is either delivered or given up. Never throws. */
  drain(drainables: ReadonlySet<Drainable>): void {
    if (this.#isDraining) return // a listener logged during the drain, which delivers that event, too
    const isLoggedAtEnd = this.#hasDrained
    this.#hasDrained ||= drainables.size > 0
    for (const one of [...drainables]) {
      one.settleWithoutRequests()
      if (one.exitTimeoutMs === 0) one.dropRemaining({ ...withoutTime, isLoggedAtEnd })
    }
    if (drainables.size === 0) return
    this.#isDraining = true
    const startedAtMs = monotonicMs()
    try {
      this.#client ??= new WorkerHttpClient()
      this.#hasWorked = true
      drainBy(this.#client, drainables, { startedAtMs: startedAtMs - this.#delayedMs, isLoggedAtEnd })
    } catch (error) {
      this.end()
      for (const one of [...drainables]) one.dropRemaining({ ...withoutWorker(error as Error), isLoggedAtEnd })
    } finally {
      this.#delayedMs += monotonicMs() - startedAtMs
      this.#isDraining = false
    }
  }

  end(): void {
    this.#client?.terminate()
    this.#client = undefined
  }

  /**
   * Lets V8's compiler threads end their work, if a drain has given them any. At the end of the process, Node waits for
   * these threads, but collects no garbage any more. If one of them needs a collection then, the process hangs and
   * never ends (nodejs/node#54918). Here a thread that waits is still given its collection.
   */
  settle(): void {
    if (this.#hasWorked) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, compilersMs)
  }
}

function drainBy(
  client: WorkerHttpClient,
  drainables: ReadonlySet<Drainable>,
  { startedAtMs, isLoggedAtEnd }: { readonly startedAtMs: number; readonly isLoggedAtEnd: boolean },
): void {
  const begun = new Set<Drainable>()
  const ended = new Set<Drainable>()
  try {
    for (;;) {
      let untilMs = Number.POSITIVE_INFINITY
      for (const one of drainables) {
        if (ended.has(one)) continue // registered again by a listener that logged
        const deadlineMs = startedAtMs + one.exitTimeoutMs
        const isLate = monotonicMs() >= deadlineMs
        if (!isLate && !begun.has(one)) {
          begun.add(one) // first, so that `endDrain` follows even if `beginDrain` throws
          one.beginDrain(client, deadlineMs - monotonicMs())
        }
        if (isLate && one.isWaitingForAnswers()) client.settleTaken()
        const wakeAtMs = isLate ? deadlineMs : one.step()
        if (!isLate && (one.isWaitingForAnswers() || wakeAtMs < deadlineMs)) {
          untilMs = Math.min(untilMs, wakeAtMs, deadlineMs)
        } else {
          ended.add(one)
          const why = wakeAtMs === Number.POSITIVE_INFINITY ? notRead : notTaken
          one.dropRemaining({ ...(isLate ? outOfTime(one.exitTimeoutMs) : why), isLoggedAtEnd })
        }
      }
      if (untilMs === Number.POSITIVE_INFINITY) return
      client.wait(untilMs)
    }
  } finally {
    for (const one of begun) one.endDrain()
  }
}
