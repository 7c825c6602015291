import { checkCount, checkDelay, checkFunction, checkObject, checkOneOf, checkRange, checkTexts } from './checks.ts'
import { type EventPredicate, type FaultPlan, noFaults } from './fault-plan.ts'
import type { ReceivedRequest } from './request-log.ts'
import { type ScriptedAnswer, scripted } from './scripted-answer.ts'

/**
 * Faults a test can script. They meet ingest requests that passed authentication (and the limits of the license that need
 * no events to check, where enforced) and carry one of the media types, in this order:
 *
 * 1. the script, one step a request, in the order of the calls: `answerNext`, `resetNext`
 * 2. `refuseEncodings`
 * 3. (the body is read and decoded) `maxBytes`
 * 4. (its events are found) `rejectRequests`
 * 5. `rejectEvents`
 * 6. (datasets and fields are limited, where enforced; the other events are stored) a reset after storing
 *
 * `latencyMs` and `slowBody` come last, and meet every answer to an ingest request, a 403 or a scripted one too.
 */
export class Faults {
  #plan: FaultPlan

  /** @internal */
  constructor(plan: FaultPlan) {
    this.#plan = plan
  }

  /**
   * How long an answer is held back once it is ready, in milliseconds from 0; a function may decide for each request.
   *
   * A request is stored before it waits, so a client that gives up early leaves its events there.
   *
   * @defaultValue 0
   */
  get latencyMs(): number | ((request: ReceivedRequest) => number) {
    return this.#plan.latencyMs
  }

  set latencyMs(latency: number | ((request: ReceivedRequest) => number)) {
    this.#plan.latencyMs = typeof latency === 'function' ? latency : checkDelay('latencyMs', latency)
  }

  /** Answers the next `count` requests so; nothing of them is stored. `count`: integer from 1, or `Infinity`. */
  answerNext(count: number, answer: ScriptedAnswer): void {
    this.#plan.script.push({ left: checkCount('answerNext: count', count), value: scripted('answerNext', answer) })
  }

  /**
   * Resets the connection (RST) of the next `count` requests instead of an answer: `before-storing` as the body begins
   * to arrive, `after-storing` when its events are stored. `count`: integer from 1, or `Infinity`.
   */
  resetNext(count: number, moment: 'before-storing' | 'after-storing'): void {
    checkOneOf('resetNext: moment', moment, ['before-storing', 'after-storing'])
    const value = moment === 'before-storing' ? 'reset before storing' : 'reset after storing'
    this.#plan.script.push({ left: checkCount('resetNext: count', count), value })
  }

  /**
   * Sends the headers of the next answers at once and lets the bodies trickle. `bytesPerSecond`: 0.001 to 1e9.
   * `answers`: integer from 1, or `Infinity`, the default.
   */
  slowBody(options: { bytesPerSecond: number; answers?: number }): void {
    const { bytesPerSecond, answers = Number.POSITIVE_INFINITY } = checkObject('slowBody: options', options)
    checkRange('slowBody: bytesPerSecond', bytesPerSecond, 0.001, 1e9)
    this.#plan.slow = { left: checkCount('slowBody: answers', answers), value: bytesPerSecond }
  }

  /** Rejects each event that matches, inside a 200, with this reason; the others are stored. Calls add up. */
  rejectEvents(predicate: EventPredicate, reason: string): void {
    this.#plan.rejections.push({
      predicate: checkFunction('rejectEvents: predicate', predicate),
      reason: String(reason),
    })
  }

  /** Refuses every request that holds an event that matches; status 400 by default. Calls add up. */
  rejectRequests(predicate: EventPredicate, answer: Partial<ScriptedAnswer> = {}): void {
    checkFunction('rejectRequests: predicate', predicate)
    const own = checkObject('rejectRequests: answer', answer)
    this.#plan.poisons.push({ predicate, answer: scripted('rejectRequests', { status: 400, ...own }) })
  }

  /** Answers 413 when a decoded body has more bytes than this, and then resets the connection if `reset` is true. */
  maxBytes(bytes: number, options: { reset?: boolean } = {}): void {
    const { reset = false } = checkObject('maxBytes: options', options)
    this.#plan.maxBytes = { bytes: checkRange('maxBytes: bytes', bytes, 0, Number.POSITIVE_INFINITY), thenReset: reset }
  }

  /** Answers 415 to bodies with one of these content encodings. Replaces what an earlier call said. */
  refuseEncodings(encodings: readonly string[]): void {
    this.#plan.refusedEncodings = new Set(
      checkTexts('refuseEncodings: encodings', encodings).map(encoding => encoding.toLowerCase()),
    )
  }

  /** Forgets every fault. */
  clear(): void {
    Object.assign(this.#plan, noFaults())
  }
}
