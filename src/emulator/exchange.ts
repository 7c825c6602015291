import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Ending } from './answer.ts'
import type { RequestEntry } from './request-log.ts'

/** One request on its way through the stages. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** What `emulator.requests()` will say of it; the stages fill it in. */
  readonly entry: RequestEntry
}

/**
 * One step of a request's way. It ends the request by returning an ending, or passes it on by returning nothing,
 * having written what it learnt into the exchange.
 */
export type Stage<E extends Exchange> = (exchange: E) => Ending | undefined | Promise<Ending | undefined>

/** Walks a request through the stages until one of them ends it. */
export async function passThrough<E extends Exchange>(stages: readonly Stage<E>[], exchange: E): Promise<Ending> {
  for (const stage of stages) {
    const ending = await stage(exchange)
    if (ending) return ending
  }
  throw new Error('no stage answered the request')
}
