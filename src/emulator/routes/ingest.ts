import { systemTimeMs } from '../../time.ts'
import { type Answer, type Ending, json, refusal, reset } from '../answer.ts'
import type { Arrivals } from '../arrivals.ts'
import { type BodyLimits, drainBody, encodingOf, readBody, startOfBody, unsupportedEncoding } from '../body.ts'
import { BodyEvents, type EventObject } from '../body-events.ts'
import type { Exchange, Stage } from '../exchange.ts'
import { type FaultPlan, nextStep } from '../fault-plan.ts'
import { findEvents } from '../find-events.ts'
import type { LicenseLimits } from '../license-limits.ts'
import { checkMediaType, mediaTypeOf } from '../media-type.ts'
import type { EventBounds } from '../spans.ts'
import type { Store } from '../store.ts'
import type { Tokens } from '../tokens.ts'

/** An ingest request, and the results of its stages so far. */
export interface Ingest extends Exchange {
  readonly dataset: string
  body: Buffer
  events: BodyEvents
  failures: { timestamp: string; error: string }[]
  resetAfterStoring: boolean
}

export interface IngestDeps {
  tokens: Tokens
  licenseLimits: LicenseLimits
  plan: FaultPlan
  bodyLimits: BodyLimits
  eventBounds: EventBounds
  store: Store
  arrivals: Arrivals
}

const noBody = Buffer.alloc(0)

export function startIngest(exchange: Exchange, dataset: string): Ingest {
  const events = new BodyEvents(noBody, [])
  return { ...exchange, dataset, body: noBody, events, failures: [], resetAfterStoring: false }
}

/** Returns the stages of an ingest request, in order. */
export function ingestStages(deps: IngestDeps): Stage<Ingest>[] {
  const { tokens, licenseLimits, plan, bodyLimits, eventBounds, store, arrivals } = deps
  return [
    ingest => tokens.admit(ingest, { action: 'ingest', dataset: ingest.dataset }),
    ingest => licenseLimits.announceMonth(ingest),
    ingest => licenseLimits.admitRequest(ingest),
    ingest => licenseLimits.checkExpiry(ingest),
    ingest => licenseLimits.checkMonth(ingest),
    ({ request }) => checkMediaType(request, ['application/json', 'application/x-ndjson']),
    ingest => playScript(ingest, plan),
    ({ request }) => (plan.refusedEncodings.has(encodingOf(request)) ? unsupportedEncoding() : undefined),
    ingest => decodeBody(ingest, bodyLimits),
    ({ body }) => (body.length > plan.maxBytes.bytes ? overScriptedLimit(plan) : undefined),
    ingest => findEventsInBody(ingest, eventBounds),
    ingest => refusePoison(ingest, plan),
    ingest => rejectEvents(ingest, plan),
    ingest => licenseLimits.admitDataset(ingest, ingest.dataset),
    ingest => rejectNewFields(ingest, licenseLimits),
    ingest => storeEvents(ingest, store, arrivals, licenseLimits),
  ]
}

async function playScript(ingest: Ingest, plan: FaultPlan): Promise<Ending | undefined> {
  const step = nextStep(plan)
  if (step === undefined) return undefined
  if (step === 'reset after storing') {
    ingest.resetAfterStoring = true
    return undefined
  }
  if (step === 'reset before storing') {
    await startOfBody(ingest.request, ingest.entry)
    return reset
  }
  await drainBody(ingest.request, ingest.entry)
  return step
}

async function decodeBody(ingest: Ingest, limits: BodyLimits): Promise<Ending | undefined> {
  const body = await readBody(ingest.request, ingest.entry, limits)
  if (!Buffer.isBuffer(body)) return body
  ingest.body = body
  return undefined
}

function overScriptedLimit({ maxBytes: { bytes, thenReset } }: FaultPlan): Answer {
  return { ...refusal(413, 'body-too-large', `a body may have up to ${bytes} bytes`), thenReset }
}

function findEventsInBody(ingest: Ingest, bounds: EventBounds): Answer | undefined {
  const found = findEvents(ingest.body, mediaTypeOf(ingest.request), bounds)
  if (!(found instanceof BodyEvents)) return refusal(found.status, found.code, found.message)
  ingest.events = found
  ingest.entry.eventCount = found.count
  return undefined
}

function refusePoison({ events, dataset }: Ingest, { poisons }: FaultPlan): Answer | undefined {
  if (poisons.length === 0) return undefined
  for (let index = 0; index < events.count; index += 1) {
    const event = events.event(index)
    const poison = poisons.find(({ predicate }) => predicate(event, dataset))
    if (poison) return poison.answer
  }
  return undefined
}

function rejectEvents(ingest: Ingest, { rejections }: FaultPlan): undefined {
  if (rejections.length === 0) return
  rejectEach(ingest, event => rejections.find(({ predicate }) => predicate(event, ingest.dataset))?.reason)
}

function rejectNewFields(ingest: Ingest, licenseLimits: LicenseLimits): undefined {
  const reasonToFail = licenseLimits.fieldCheck(ingest, ingest.dataset)
  if (reasonToFail) rejectEach(ingest, reasonToFail)
}

function rejectEach(ingest: Ingest, reasonToFail: (event: EventObject) => string | undefined): void {
  const rejected = new Set<number>()
  for (let index = 0; index < ingest.events.count; index += 1) {
    const event = ingest.events.event(index)
    const error = reasonToFail(event)
    if (error === undefined) continue
    rejected.add(index)
    ingest.failures.push({ timestamp: String(event._time ?? new Date(systemTimeMs()).toISOString()), error })
  }
  ingest.events = ingest.events.without(rejected)
}

/**
 * Stores the events. The specification does not define the body of the answer. Its fields are those that clients of the
 * public service that resembles this one read.
 */
function storeEvents(ingest: Ingest, store: Store, arrivals: Arrivals, licenseLimits: LicenseLimits): Ending {
  const { dataset, body, events, failures } = ingest
  store.add(dataset, events)
  licenseLimits.countIngested(ingest)
  arrivals.arrived(dataset)
  if (ingest.resetAfterStoring) return reset
  return json(200, {
    ingested: events.count,
    failed: failures.length,
    failures,
    processedBytes: body.length,
    blocksCreated: 0,
    walLength: store.heldRequests,
  })
}
