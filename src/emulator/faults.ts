import {
  checkCount,
  checkDelay,
  checkFlag,
  checkFunction,
  checkObject,
  checkOneOf,
  checkOptions,
  checkRange,
  checkText,
  checkTexts,
} from './checks.ts'
import { type EventPredicate, type FaultPlan, noFaults } from './fault-plan.ts'
import type { ReceivedRequest } from './request-log.ts'
import { type ScriptedAnswer, scripted } from './scripted-answer.ts'

/**
 * Faults that a test can script. They apply to ingest requests that passed authentication and carry one of the accepted
 * media types. Enforced license limits that need no events are checked before the faults. The order is:
 *
 * 1. the script, one step per request, in the order of the calls: `answerNext`, `resetNext`
 * 2. `refuseEncodings`
 * 3. (the body is read and decoded) `maxBytes`
 * 4. (the events in the body are found) `rejectRequests`
 * 5. `rejectEvents`
 * 6. (enforced limits on datasets and fields apply, and the remaining events are stored) a reset after storing
 *
 * `latencyMs` and `slowBody` come last. They apply to every answer to an ingest request, including a 403 or a scripted
 * answer. The only exception is the 500 after a function of the test throws.
 */
export class Faults {
  #plan: FaultPlan

  /** @internal */
  constructor(plan: FaultPlan) {
    this.#plan = plan
  }

  /**
   * Delay of each answer after it is ready, in milliseconds: 0 to 2^31 − 1, or a function that returns the delay per
   * request.
   *
   * A request is stored before it is delayed. If the client gives up early, its events stay stored.
   *
   * If a function throws or returns an invalid delay, its request gets a 500.
   *
   * @defaultValue 0
   * @throws RangeError if the delay that is set is out of range
   */
  get latencyMs(): number | ((request: ReceivedRequest) => number) {
    return this.#plan.latencyMs
  }

  set latencyMs(latency: number | ((request: ReceivedRequest) => number)) {
    this.#plan.latencyMs = typeof latency === 'function' ? latency : checkDelay('latencyMs', latency)
  }

  /**
   * Gives the next `count` requests this answer and stores none of their events.
   *
   * @param count - integer from 1, or `Infinity`
   * @throws TypeError | RangeError if an argument is invalid
   */
  answerNext(count: number, answer: ScriptedAnswer): void {
    this.#plan.script.push({ left: checkCount('answerNext: count', count), value: scripted('answerNext', answer) })
  }

  /**
   * Resets the connection (RST) of the next `count` requests in place of an answer.
   *
   * @param count - integer from 1, or `Infinity`
   * @param moment - `before-storing`: when the body begins to arrive; `after-storing`: after the events are stored
   * @throws TypeError | RangeError if an argument is invalid
   */
  resetNext(count: number, moment: 'before-storing' | 'after-storing'): void {
    checkOneOf('resetNext: moment', moment, ['before-storing', 'after-storing'])
    const value = moment === 'before-storing' ? 'reset before storing' : 'reset after storing'
    this.#plan.script.push({ left: checkCount('resetNext: count', count), value })
  }

  /**
   * Sends the headers of the next answers at once, and their bodies slowly. A later call replaces an earlier one.
   *
   * @param options - `bytesPerSecond`: number, 0.001 to 1e9; `answers`: integer from 1, or `Infinity`, the default
   * @throws TypeError | RangeError if an option is invalid
   */
  slowBody(options: { bytesPerSecond: number; answers?: number }): void {
    const given = checkOptions('slowBody: options', options, ['bytesPerSecond', 'answers'])
    const { bytesPerSecond, answers = Number.POSITIVE_INFINITY } = given
    checkRange('slowBody: bytesPerSecond', bytesPerSecond, 0.001, 1e9)
    this.#plan.slow = { left: checkCount('slowBody: answers', answers), value: bytesPerSecond }
  }

  /**
   * Rejects each matching event with this reason, inside a 200, and stores the other events. Each call adds a fault.
   *
   * @throws TypeError | RangeError if an argument is invalid
   */
  rejectEvents(predicate: EventPredicate, reason: string): void {
    this.#plan.rejections.push({
      predicate: checkFunction('rejectEvents: predicate', predicate),
      reason: checkText('rejectEvents: reason', reason),
    })
  }

  /**
   * Refuses every request that contains a matching event. Each call adds a fault.
   *
   * @param answer - the answer to such a request; its status is 400 by default
   * @throws TypeError | RangeError if an argument is invalid
   */
  rejectRequests(predicate: EventPredicate, answer: Partial<ScriptedAnswer> = {}): void {
    checkFunction('rejectRequests: predicate', predicate)
    const own = checkObject('rejectRequests: answer', answer)
    this.#plan.poisons.push({ predicate, answer: scripted('rejectRequests', { status: 400, ...own }) })
  }

  /**
   * Answers 413 if a decoded body is longer than `bytes`. A later call replaces an earlier one.
   *
   * @param bytes - number from 0, or `Infinity` for no limit
   * @param options - `reset`: true to reset the connection after the 413; false by default
   * @throws TypeError | RangeError if an argument is invalid
   */
  maxBytes(bytes: number, options: { reset?: boolean } = {}): void {
    const { reset = false } = checkOptions('maxBytes: options', options, ['reset'])
    checkFlag('maxBytes: reset', reset)
    this.#plan.maxBytes = { bytes: checkRange('maxBytes: bytes', bytes, 0, Number.POSITIVE_INFINITY), thenReset: reset }
  }

  /**
   * Answers 415 to a body with one of these content encodings. A later call replaces an earlier one.
   *
   * @throws TypeError | RangeError if `encodings` is not a list of non-empty strings
   */
  refuseEncodings(encodings: readonly string[]): void {
    this.#plan.refusedEncodings = new Set(
      checkTexts('refuseEncodings: encodings', encodings).map(encoding => encoding.toLowerCase()),
    )
  }

  /** Removes every fault. */
  clear(): void {
    Object.assign(this.#plan, noFaults())
  }
}
