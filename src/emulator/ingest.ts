import type { Answer, Ending } from './answer.ts'
import type { BodyMemory } from './body.ts'
import type { BodyEvents } from './body-events.ts'
import type { Exchange } from './exchange.ts'
import type { BodyProblem } from './find-events.ts'

/** How a request carries events: what the ingest endpoint of the service does, or another protocol. */
export interface IngestProtocol {
  readonly mediaTypes: readonly string[]
  /** Checks the credentials of a request, and sets the organization that it acts for. */
  admit(ingest: Ingest): Answer | undefined
  /** Returns an answer if the events cannot be looked for now. */
  findEvents(ingest: Ingest): Promise<BodyEvents | BodyProblem | Answer>
  /** Returns the answer for stored events. */
  answer(ingest: Ingest): Answer | Promise<Answer>
}

/** An ingest request, and the results of its stages so far. */
export interface Ingest extends Exchange {
  readonly dataset: string
  readonly protocol: IngestProtocol
  readonly memory: BodyMemory
  /** Memory of events that are no part of the body, in bytes. It is freed when the request ends. */
  eventBytes: number
  body: Buffer
  /** The body, or why it cannot be decoded, if it was read before the faults apply. */
  readAhead: Buffer | Ending | undefined
  /** The events of the body, or why there are none, if they were looked for before the faults apply. */
  found: BodyEvents | BodyProblem | Answer | undefined
  events: BodyEvents
  failures: { timestamp: string; error: string }[]
  /** The JSON of the first event that failed. */
  firstFailed: string | undefined
  resetAfterStoring: boolean
}
