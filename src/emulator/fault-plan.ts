import type { Answer, Ending } from './answer.ts'
import type { EventObject } from './body-events.ts'
import { checkDelay } from './checks.ts'
import type { ReceivedRequest } from './request-log.ts'

/** Says whether an event is meant. When it throws, the request is answered with a 500 that carries its message. */
export type EventPredicate = (event: EventObject, dataset: string) => boolean

/** What happens to one request, as scripted. */
export type ScriptStep = Answer | 'reset before storing' | 'reset after storing'

/** A value for the next `left` requests. */
export interface Repeated<T> {
  left: number
  readonly value: T
}

/** The faults in force: written by tests through `Faults`, read by the stages. */
export interface FaultPlan {
  latencyMs: number | ((request: ReceivedRequest) => number)
  script: Repeated<ScriptStep>[]
  /** Bytes per second of the bodies of the next answers. */
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

/** Uses up one step of the script. */
export function nextStep(plan: FaultPlan): ScriptStep | undefined {
  const step = plan.script[0]
  if (!step) return undefined
  step.left -= 1
  if (step.left === 0) plan.script.shift()
  return step.value
}

/** The same ending, late and slow as the plan says. */
export function paced(ending: Ending, request: ReceivedRequest, plan: FaultPlan): Ending {
  const { latencyMs, slow } = plan
  const afterMs = typeof latencyMs === 'function' ? checkDelay('latencyMs', latencyMs(request)) : latencyMs
  if (ending.kind === 'reset' || slow.left === 0) return { ...ending, afterMs }
  slow.left -= 1
  return { ...ending, afterMs, bytesPerSecond: slow.value }
}
