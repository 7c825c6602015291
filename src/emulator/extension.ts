import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Answer, Ending } from './answer.ts'
import type { Exchange } from './exchange.ts'
import type { Ingest, IngestProtocol } from './ingest.ts'
import type { RequestEntry } from './request-log.ts'

/**
 * Another service on the port of the emulator, which also sees the requests of the emulator. It is the dev service.
 *
 * With an extension, the body of each ingest request with a valid token is read before limits and faults apply. So the
 * extension can recognize a retry of a request that was refused.
 */
export interface Extension {
  /** Maximum size of the headers of a request, in bytes, with its address. */
  readonly maxHeaderBytes: number
  /** Takes a request over, before the emulator logs it. @returns true if the extension answers it */
  serve(request: IncomingMessage, response: ServerResponse): boolean
  /** Returns the refusal of a request for its host or its origin. Replaces the emulator's own check of both. */
  admit(request: IncomingMessage): Answer | undefined
  /** Returns the protocol of a request that carries events in another way than the ingest endpoint. */
  ingestOf(exchange: Exchange): { dataset: string; protocol: IngestProtocol } | undefined
  /** Answers a request for a path that only the extension knows. */
  answer(exchange: Exchange): Promise<Ending | undefined>
  /** Returns the ending of a request as the client expects it, if it speaks another protocol. */
  finish(exchange: Exchange, ending: Ending): Promise<Ending>
  onOpened(entry: RequestEntry, request: IncomingMessage): void
  /** Called when the body of an ingest request was read, before limits and faults apply. */
  onRead(ingest: Ingest): void
  /** Called when events were stored. The answer waits for the promise. */
  onStored(ingest: Ingest): Promise<void>
  onEnded(entry: RequestEntry): void
}
