import type { Answer, Ending } from './answer.ts'
import type { EventObject } from './body-events.ts'
import { checkDelay } from './checks.ts'
import type { ReceivedRequest } from './request-log.ts'

/**
 * True for an event that a fault applies to. If the predicate throws, the request gets a 500 with its error message.
 */
export type EventPredicate = (event: EventObject, dataset: string) => boolean

/** The scripted result of one request: an answer, or a reset of its connection. */
type ScriptStep = Answer | 'reset before storing' | 'reset after storing'

/** A value that applies to the next `left` requests or answers. */
interface Repeated<T> {
  left: number
  readonly value: T
}

/** The faults in force. Tests write them through `Faults`; the stages read them. */
export interface FaultPlan {
  latencyMs: number | ((request: ReceivedRequest) => number)
  script: Repeated<ScriptStep>[]
  /** Send rate of the bodies of the next answers, in bytes per second. */
  slow: Repeated<number>
  refusedEncodings: ReadonlySet<string>
  maxBytes: { bytes: number; thenReset: boolean }
  poisons: { predicate: EventPredicate; answer: Answer }[]
  rejections: { predicate: EventPredicate; reason: string }[]
}

export function noFaults(): FaultPlan {
  return {
    latencyMs: 0,
    script: [],
    slow: { left: 0, value: 0 },
    refusedEncodings: new Set(),
    maxBytes: { bytes: Number.POSITIVE_INFINITY, thenReset: false },
    poisons: [],
    rejections: [],
  }
}

/** Removes and returns the next step of the script. */
export function nextStep(plan: FaultPlan): ScriptStep | undefined {
  const step = plan.script[0]
  if (!step) return undefined
  step.left -= 1
  if (step.left === 0) plan.script.shift()
  return step.value
}

/** Returns the ending with the latency of the plan and, for an answer, its send rate. */
export function paced(ending: Ending, request: ReceivedRequest, plan: FaultPlan): Ending {
  const { latencyMs, slow } = plan
  const afterMs = typeof latencyMs === 'function' ? checkDelay('latencyMs', latencyMs(request)) : latencyMs
  if (ending.kind === 'reset' || slow.left === 0) return { ...ending, afterMs }
  slow.left -= 1
  return { ...ending, afterMs, bytesPerSecond: slow.value }
}
