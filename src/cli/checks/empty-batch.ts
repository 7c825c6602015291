import zlib from 'node:zlib'
import { ingestHeaders, ingestPath } from '../../delivery/request.ts'
import { codecs, type Encoding } from '../../http/encodings.ts'
import { type Answer, exchange } from '../../http/exchange.ts'
import { monotonicMs } from '../../time.ts'
import type { Session } from './session.ts'

interface EmptyBatch {
  readonly encoding?: Encoding
  /** Bytes of the body before compression; spaces fill it. */
  readonly bytes?: number
  /** Headers in addition to those of the options. */
  readonly headers?: Readonly<Record<string, string>>
}

const chunkSize = 16 * 1024

/**
 * Sends a batch without events, an empty JSON array: the service checks all of the request, and has nothing to store.
 * The promise rejects if no answer comes.
 */
export async function sendEmptyBatch(
  { resolved, connections, settings }: Session,
  { encoding = 'none', bytes = 2, headers }: EmptyBatch = {},
): Promise<{ readonly answer: Answer; readonly tookMs: number }> {
  const { baseUrl, dataset, credentials } = resolved
  const plain = Buffer.alloc(bytes, ' ')
  plain[0] = 0x5b // [
  plain[bytes - 1] = 0x5d // ]
  const body = encoding === 'none' ? plain : codecs[encoding].compressSync(zlib, plain, chunkSize)
  const startedAtMs = monotonicMs()
  const answer = await exchange(
    connections,
    {
      method: 'POST',
      origin: baseUrl.origin,
      path: ingestPath(baseUrl.pathname, String(dataset)),
      headers: { ...ingestHeaders('application/json', encoding, credentials.headers()), ...headers },
      body,
    },
    settings.timeoutMs,
    new AbortController().signal,
  )
  return { answer, tookMs: monotonicMs() - startedAtMs }
}

/** Statuses by which a service refuses a body, whatever the reason. */
const refusals: ReadonlySet<number> = new Set([400, 413, 415, 422])

/**
 * Judges by an answer if the service takes batches of this encoding or size. `taken` means that the service accepts the
 * batch, or answers as it answered the first one: it may refuse batches without events. A status like 429 is `unclear`.
 */
export function judgeLike(first: Answer, { status }: Answer): 'taken' | 'refused' | 'unclear' {
  if (isAccepted({ status })) return 'taken'
  if (status === first.status && status !== 413 && status !== 415) return 'taken'
  return mayRefuseBody(status) ? 'refused' : 'unclear'
}

/** True for a status by which a service refuses a body. */
export function mayRefuseBody(status: number): boolean {
  return refusals.has(status)
}

export function isAccepted({ status }: Pick<Answer, 'status'>): boolean {
  return status >= 200 && status < 300
}
