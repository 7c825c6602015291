import { systemTimeMs } from '../../time.ts'
import { type Answer, type Ending, json, refusal, reset } from '../answer.ts'
import type { Arrivals } from '../arrivals.ts'
import { type BodyReading, drainBody, encodingOf, readBody, startOfBody, unsupportedEncoding } from '../body.ts'
import { BodyEvents, type EventObject } from '../body-events.ts'
import type { Exchange, Stage } from '../exchange.ts'
import type { Extension } from '../extension.ts'
import { type FaultPlan, nextStep } from '../fault-plan.ts'
import { findEvents } from '../find-events.ts'
import type { Ingest, IngestProtocol } from '../ingest.ts'
import type { LicenseLimits } from '../license-limits.ts'
import { checkMediaType, mediaTypeOf } from '../media-type.ts'
import { Slices } from '../slices.ts'
import type { EventBounds } from '../spans.ts'
import type { Store } from '../store.ts'
import type { Tokens } from '../tokens.ts'

export interface IngestDeps {
  tokens: Tokens
  licenseLimits: LicenseLimits
  plan: FaultPlan
  bodyLimits: BodyReading
  eventBounds: EventBounds
  store: Store
  arrivals: Arrivals
  extension: Extension | undefined
}

const noBody = Buffer.alloc(0)

/** Maximum size of a body whose parsed events are kept for the extension, in bytes. */
const maxParsedBytes = 8_388_608

export function startIngest(
  exchange: Exchange,
  { dataset, protocol, memory }: Pick<Ingest, 'dataset' | 'protocol' | 'memory'>,
): Ingest {
  return {
    ...exchange,
    dataset,
    protocol,
    memory,
    eventBytes: 0,
    body: noBody,
    readAhead: undefined,
    found: undefined,
    events: new BodyEvents(noBody, []),
    failures: [],
    firstFailed: undefined,
    resetAfterStoring: false,
  }
}

/** Returns the protocol of the ingest endpoint. */
export function ingestProtocol({ tokens, store, eventBounds, extension }: IngestDeps): IngestProtocol {
  return {
    mediaTypes: ['application/json', 'application/x-ndjson'],
    admit: ingest => tokens.admit(ingest, { action: 'ingest', dataset: ingest.dataset }),
    findEvents: ({ body, request }) =>
      findEvents(body, mediaTypeOf(request), {
        ...eventBounds,
        keepsParsed: extension !== undefined && body.length <= maxParsedBytes,
      }),
    answer: ingest => ingestAnswer(ingest, store),
  }
}

/** Returns the stages of an ingest request, in order. */
export function ingestStages(deps: IngestDeps): Stage<Ingest>[] {
  const { licenseLimits, plan, bodyLimits, extension } = deps
  return [
    ingest => ingest.protocol.admit(ingest),
    ingest => (extension ? readAhead(ingest, bodyLimits, extension) : undefined),
    ingest => licenseLimits.announceMonth(ingest),
    ingest => licenseLimits.admitRequest(ingest),
    ingest => licenseLimits.checkExpiry(ingest),
    ingest => licenseLimits.checkMonth(ingest),
    ({ request, protocol }) => checkMediaType(request, protocol.mediaTypes),
    ingest => playScript(ingest, plan),
    ingest =>
      plan.refusedEncodings.has(encodingOf(ingest.request)) ? byFault(ingest, unsupportedEncoding()) : undefined,
    ingest => decodeBody(ingest, bodyLimits),
    ingest => (ingest.body.length > plan.maxBytes.bytes ? byFault(ingest, overScriptedLimit(plan)) : undefined),
    ingest => findEventsInBody(ingest),
    ingest => refusePoison(ingest, plan),
    ingest => rejectEvents(ingest, plan),
    ingest => licenseLimits.admitDataset(ingest, ingest.dataset),
    ingest => rejectNewFields(ingest, licenseLimits),
    ingest => storeEvents(ingest, deps),
  ]
}

/** Reads the body and finds its events before anything else, so that the extension sees refused requests as well. */
async function readAhead(ingest: Ingest, limits: BodyReading, extension: Extension): Promise<undefined> {
  ingest.readAhead = await readBody(ingest.request, ingest.entry, limits)
  if (Buffer.isBuffer(ingest.readAhead)) {
    ingest.body = ingest.readAhead
    if (ingest.protocol.mediaTypes.includes(mediaTypeOf(ingest.request))) {
      ingest.found = await ingest.protocol.findEvents(ingest)
      if (ingest.found instanceof BodyEvents) ingest.entry.eventCount = ingest.found.count
    }
  }
  extension.onRead(ingest)
}

async function playScript(ingest: Ingest, plan: FaultPlan): Promise<Ending | undefined> {
  const step = nextStep(plan)
  if (step === undefined) return undefined
  ingest.entry.isByFault = true
  if (step === 'reset after storing') {
    ingest.resetAfterStoring = true
    return undefined
  }
  if (step === 'reset before storing') {
    if (ingest.readAhead === undefined) await startOfBody(ingest.request, ingest.entry)
    return reset
  }
  if (ingest.readAhead === undefined) await drainBody(ingest.request, ingest.entry)
  return step
}

async function decodeBody(ingest: Ingest, limits: BodyReading): Promise<Ending | undefined> {
  const body = ingest.readAhead ?? (await readBody(ingest.request, ingest.entry, limits))
  if (!Buffer.isBuffer(body)) return body
  ingest.body = body
  return undefined
}

function byFault(ingest: Ingest, answer: Answer): Answer {
  ingest.entry.isByFault = true
  return answer
}

function overScriptedLimit({ maxBytes: { bytes, thenReset } }: FaultPlan): Answer {
  return { ...refusal(413, 'body-too-large', `a body may have up to ${bytes} bytes`), thenReset }
}

async function findEventsInBody(ingest: Ingest): Promise<Answer | undefined> {
  const found = ingest.found ?? (await ingest.protocol.findEvents(ingest))
  if (!(found instanceof BodyEvents)) return 'kind' in found ? found : refusal(found.status, found.code, found.message)
  ingest.events = found
  ingest.entry.eventCount = found.count
  return undefined
}

async function refusePoison(ingest: Ingest, { poisons }: FaultPlan): Promise<Answer | undefined> {
  if (poisons.length === 0) return undefined
  const { events, dataset } = ingest
  const slices = new Slices()
  for (let index = 0; index < events.count; index += 1) {
    if (slices.isOver) await slices.next()
    const event = events.event(index)
    const poison = poisons.find(({ predicate }) => predicate(event, dataset))
    if (poison) return byFault(ingest, poison.answer)
  }
  return undefined
}

async function rejectEvents(ingest: Ingest, { rejections }: FaultPlan): Promise<undefined> {
  if (rejections.length === 0) return
  await rejectEach(ingest, event => rejections.find(({ predicate }) => predicate(event, ingest.dataset))?.reason)
  ingest.entry.isByFault ||= ingest.failures.length > 0
}

async function rejectNewFields(ingest: Ingest, licenseLimits: LicenseLimits): Promise<undefined> {
  const reasonToFail = licenseLimits.fieldCheck(ingest, ingest.dataset)
  if (reasonToFail) await rejectEach(ingest, reasonToFail)
}

async function rejectEach(ingest: Ingest, reasonToFail: (event: EventObject) => string | undefined): Promise<void> {
  const rejected = new Set<number>()
  const slices = new Slices()
  for (let index = 0; index < ingest.events.count; index += 1) {
    if (slices.isOver) await slices.next()
    const event = ingest.events.event(index)
    const error = reasonToFail(event)
    if (error === undefined) continue
    rejected.add(index)
    ingest.firstFailed ??= ingest.events.line(index)
    ingest.failures.push({ timestamp: String(event._time ?? new Date(systemTimeMs()).toISOString()), error })
  }
  ingest.events = ingest.events.without(rejected)
}

async function storeEvents(ingest: Ingest, deps: IngestDeps): Promise<Ending> {
  const { store, arrivals, licenseLimits, extension } = deps
  store.add(ingest.dataset, ingest.events)
  licenseLimits.countIngested(ingest)
  arrivals.arrived(ingest.dataset)
  await extension?.onStored(ingest)
  return ingest.resetAfterStoring ? reset : ingest.protocol.answer(ingest)
}

/**
 * Returns the answer of the ingest endpoint. The specification does not define its body. It has the fields that clients of a
 * similar public service read.
 */
function ingestAnswer({ body, events, failures }: Ingest, store: Store): Answer {
  const answer = json(200, {
    ingested: events.count,
    failed: failures.length,
    failures,
    processedBytes: body.length,
    blocksCreated: 0,
    walLength: store.heldRequests,
  })
  return failures[0] === undefined ? answer : { ...answer, reason: failures[0].error }
}
