import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EventsAnswer, type LiveMessages, paths, type SetupAnswer, writeHeader } from '../../src/dev/protocol.ts'
import { createShipper, type Shipper } from '../../src/index.ts'
import { startLogferry } from '../support/logferry.ts'
import type { RunningProcess } from '../support/start-node.ts'

/** `logferry dev` as it is built, on a free port, with a state directory of its own. */
export interface Dev extends AsyncDisposable {
  readonly process: RunningProcess
  readonly url: string
  readonly token: string
  readonly stateHome: string
  get<T>(path: string, query?: Readonly<Record<string, string | number>>): Promise<T>
  post<T>(path: string, body?: unknown): Promise<T>
  /** Makes a request with any headers, and returns its answer. */
  raw(path: string, options?: RawOptions): Promise<RawAnswer>
  events(query?: Readonly<Record<string, string | number>>): Promise<EventsAnswer>
  ingest(events: readonly object[], dataset?: string): Promise<RawAnswer>
  shipper(dataset?: string): Shipper
  live(query?: Readonly<Record<string, string | number>>): Promise<Live>
}

export interface RawOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

export async function startDev(args: readonly string[] = [], environment: Record<string, string> = {}): Promise<Dev> {
  const stateHome = environment.XDG_STATE_HOME ?? mkdtempSync(join(tmpdir(), 'logferry-state-'))
  const running = startLogferry(['dev', '--port', '0', ...args], {
    HOME: stateHome,
    XDG_STATE_HOME: stateHome,
    ...environment,
  })
  await running.until(/Press Ctrl-C/)
  const printed = running.stdout() + running.stderr()
  const url = /LOGFERRY_URL=(\S+)/.exec(printed)?.[1] as string
  const token = /LOGFERRY_TOKEN=(\S+)/.exec(printed)?.[1] as string
  const shippers: Shipper[] = []
  const get = async <T>(path: string, query: Readonly<Record<string, string | number>> = {}): Promise<T> => {
    const answer = await fetch(`${url}${path}?${searchOf(query)}`)
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as T
  }
  return {
    process: running,
    url,
    token,
    stateHome,
    get,
    async post<T>(path: string, body: unknown = {}): Promise<T> {
      const headers = { 'content-type': 'application/json', [writeHeader]: '1' }
      const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
      return (await answer.json()) as T
    },
    raw: (path, options) => rawRequest(url, path, options),
    events: query => get<EventsAnswer>(paths.events, query),
    ingest: (events, dataset = 'd') =>
      rawRequest(url, `/v1/datasets/${dataset}/ingest`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(events),
      }),
    shipper(dataset = 'd') {
      const shipper = createShipper({ baseUrl: url, token, dataset, identify: true })
      shippers.push(shipper)
      return shipper
    },
    live: query => openLive(url, query),
    async [Symbol.asyncDispose]() {
      for (const shipper of shippers) await shipper.close({ timeoutMs: 0 })
      await running[Symbol.asyncDispose]()
      if (environment.XDG_STATE_HOME === undefined) rmSync(stateHome, { recursive: true, force: true })
    },
  }
}

export function setupOf(dev: Dev): Promise<SetupAnswer> {
  return dev.post<SetupAnswer>(paths.setup)
}

export function rawRequest(url: string, path: string, options: RawOptions = {}): Promise<RawAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>()
  const { method = 'GET', headers = {}, body } = options
  const sent = request(`${url}${path}`, { method, headers, agent: false }, answer => {
    const chunks: Buffer[] = []
    answer.on('data', chunk => chunks.push(chunk))
    answer.on('error', reject)
    answer.on('end', () => {
      resolve({ status: answer.statusCode as number, headers: answer.headers, body: Buffer.concat(chunks).toString() })
    })
  })
  sent.on('error', reject)
  sent.end(body)
  return promise
}

/** A message of a stream, with its id. */
export type LiveMessage = {
  [K in keyof LiveMessages]: { readonly name: K; readonly id: string; readonly data: LiveMessages[K] }
}[keyof LiveMessages]

/** A page that is open: the messages of its stream. */
export interface Live extends AsyncDisposable {
  readonly status: number
  readonly lastId: string
  /** Waits for the next message with this name for which `holds` is true. Messages before it are skipped. */
  next<K extends keyof LiveMessages>(name: K, holds?: (data: LiveMessages[K]) => boolean): Promise<LiveMessages[K]>
}

async function openLive(url: string, query: Readonly<Record<string, string | number>> = {}): Promise<Live> {
  const stop = new AbortController()
  const parameters = searchOf(query)
  const answer = await fetch(`${url}${paths.live}?${parameters}`, { signal: stop.signal })
  const messages = messagesIn(answer.body as ReadableStream<Uint8Array>)
  let lastId = ''
  return {
    status: answer.status,
    get lastId() {
      return lastId
    },
    async next(name, holds = () => true) {
      for (;;) {
        const { value, done } = await messages.next()
        if (done) throw new Error(`the stream ended without '${name}'`)
        lastId = value.id
        if (value.name === name && holds(value.data as never)) return value.data as never
      }
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      await messages.return(undefined).catch(() => {})
    },
  }
}

async function* messagesIn(body: ReadableStream<Uint8Array>): AsyncGenerator<LiveMessage, undefined> {
  let rest = ''
  for await (const chunk of body.pipeThrough(new TextDecoderStream() as never) as unknown as AsyncIterable<string>) {
    rest += chunk
    const blocks = rest.split('\n\n')
    rest = blocks.pop() as string
    for (const block of blocks) {
      const [, name, id, data] = /^event: (\w+)\nid: (\S+)\ndata: (.*)$/.exec(block) ?? []
      if (name !== undefined) yield { name, id, data: JSON.parse(data as string) } as LiveMessage
    }
  }
  return undefined
}

function searchOf(query: Readonly<Record<string, string | number>>): URLSearchParams {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) parameters.set(name, String(value))
  return parameters
}
