import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Ending } from './answer.ts'
import type { RequestEntry } from './request-log.ts'

/** One request while it passes through the stages. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The entry of the request in `emulator.requests()`. The stages fill it in. */
  readonly entry: RequestEntry
}

/**
 * One step in the handling of a request. To end the request, a stage returns an ending. To pass it on, a stage returns
 * `undefined` and writes its results into the exchange.
 */
export type Stage<E extends Exchange> = (exchange: E) => Ending | undefined | Promise<Ending | undefined>

/** Passes a request through the stages in order until one of them ends it. */
export async function passThrough<E extends Exchange>(stages: readonly Stage<E>[], exchange: E): Promise<Ending> {
  for (const stage of stages) {
    const ending = await stage(exchange)
    if (ending) return ending
  }
  throw new Error('no stage answered the request')
}
