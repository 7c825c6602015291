import type { IncomingMessage, RequestOptions } from 'node:http'
import type { Socket } from 'node:net'
import type { MessagePort } from 'node:worker_threads'
import type { Answer, Request } from './exchange.ts'
import type { ConnectionTls } from './verified-tls.ts'

/** A request for the worker to make. */
export interface WorkerRequest extends Request {
  readonly id: number
  readonly body: Uint8Array
  readonly tls: ConnectionTls | undefined
  /** What Node's agents take as `proxyEnv`. */
  readonly proxyEnv: Readonly<Record<string, string>>
  /** From the start to the end of the answer, in milliseconds. */
  readonly timeoutMs: number
  /** Most bytes that are read of an answer with a status of 2xx; of any other, 64 KiB. */
  readonly maxBytes: number
}

/** What has become of an errand; without `id`, a warning, or why the worker itself has failed. */
export interface WorkerReply {
  readonly id?: number
  readonly answer?: Answer
  readonly error?: { readonly code?: string | undefined; readonly message: string }
  /** What Node warns of in the worker: that certificates are not verified, for one. */
  readonly warning?: { readonly name: string; readonly code?: string | undefined; readonly message: string }
}

/**
 * All that the worker runs: makes requests as they come, and reports each answer. It is handed over as text (published as
 * text, too: `rolldown.config.js`), so nothing from outside the function can be used in it. By node:http, which loads in
 * a fraction of the time that undici takes.
 */
export function runRequestWorker(): void {
  const { port, reports, end } = process.getBuiltinModule('node:worker_threads').workerData as {
    port: MessagePort
    reports: Int32Array
    end: Int32Array
  }
  const agents: Record<string, unknown> = {}
  let isWaking = false

  process.on('uncaughtException', error => report({ error: { message: String(error) } }))
  process.on('warning', ({ name, message, code }: NodeJS.ErrnoException) =>
    report({ warning: { name, message, code } }),
  )
  process.on('exit', () => {
    Atomics.store(end, 0, 1)
    Atomics.notify(end, 0)
  })
  port.on('message', (errand: WorkerRequest | null) => (errand === null ? process.exit() : run(errand)))

  /** Once for all reports of a turn of the event loop: to wake the main thread costs as much as a request. */
  function wakeMain(): void {
    isWaking = false
    Atomics.add(reports, 0, 1)
    Atomics.notify(reports, 0)
  }

  function report(one: WorkerReply): void {
    port.postMessage(one)
    if (isWaking) return
    isWaking = true
    setImmediate(wakeMain)
  }

  /** As `http/verified-tls.ts` does; this thread is ended during a handshake where the time of the end is up. */
  function holdUntilVerified(socket: Socket & { readonly encrypted?: boolean }): void {
    if (!socket.connecting || socket.encrypted !== true) return
    socket.cork()
    socket.once('secureConnect', socket.uncork)
  }

  function run(errand: WorkerRequest): void {
    const url = new URL(errand.origin)
    const http = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http')
    const way = JSON.stringify([url.protocol, errand.proxyEnv])
    const agent = agents[way] ?? new http.Agent({ keepAlive: true, proxyEnv: errand.proxyEnv })
    agents[way] = agent
    const options = { method: errand.method, path: errand.path, headers: errand.headers, agent }
    const request = http.request(url, Object.assign({}, errand.tls, options) as RequestOptions)
    request.on('socket', holdUntilVerified)
    const timer = setTimeout(giveUp, errand.timeoutMs)
    let body = Buffer.alloc(0) // grows by doubling: pieces of a byte that are kept one by one take a hundred times as much
    let bytes = 0
    let head: IncomingMessage | undefined
    let isReported = false

    function settle(cut: Answer['cut'], error?: NodeJS.ErrnoException): void {
      if (isReported) return
      isReported = true
      clearTimeout(timer)
      if (head === undefined) {
        const message = (error?.message || error?.code) ?? 'the connection was closed without an answer'
        return report({ id: errand.id, error: { code: error?.code, message } })
      }
      const { statusCode, headers } = head
      report({
        id: errand.id,
        answer: { status: statusCode as number, headers: headers, body: body.subarray(0, bytes), cut: cut },
      })
    }
    function giveUp(): void {
      settle('interrupted', new Error(`no complete answer within ${Math.ceil(errand.timeoutMs)} ms`))
      request.destroy()
    }

    request.on('response', response => {
      head = response
      const maxBytes = (response.statusCode as number) < 300 ? errand.maxBytes : 65_536
      response.on('data', chunk => {
        if (bytes + chunk.length > body.length) body = Buffer.concat([body], (bytes + chunk.length) * 2)
        bytes += chunk.copy(body, bytes)
        if (bytes <= maxBytes) return
        settle('too-long')
        request.destroy()
      })
      response.on('end', () => settle(undefined))
      response.on('error', error => settle('interrupted', error))
    })
    request.on('error', error => settle('interrupted', error))
    request.on('close', () => settle('interrupted'))
    request.end(errand.body)
  }
}
