import type { Agent, IncomingMessage, RequestOptions } from 'node:http'
import type { LookupFunction, Socket } from 'node:net'
import type { MessagePort } from 'node:worker_threads'
import type { Answer, Request } from './exchange.ts'
import type { ConnectionTls } from './verified-tls.ts'

/** A request for the worker to make. */
export interface WorkerRequest extends Request {
  readonly id: number
  readonly body: Uint8Array
  readonly tls: ConnectionTls | undefined
  /** The authorities that the main thread trusts by default. With the first request over TLS that names none itself. */
  readonly trusted?: string[] | undefined
  /** Value of `proxyEnv` for Node's agents. */
  readonly proxyEnv: Readonly<Record<string, string>>
  /** Time for each of several addresses of the host, in milliseconds; Node's default by default. */
  readonly attemptMs?: number | undefined
  /** The one of several addresses of the host to begin with. */
  readonly firstAddress?: string | undefined
  /** Maximum time from the start of the request to the end of the answer, in milliseconds. */
  readonly timeoutMs: number
  /** Maximum bytes read of an answer with a 2xx status; other answers are read up to 64 KiB. */
  readonly maxBytes: number
}

/** `settle-taken` asks for the answers with a 2xx status as far as they have arrived, because the time is up. */
export type WorkerMessage = WorkerRequest | 'settle-taken' | 'end'

/**
 * The worker's reply to a request. Without `id`, it is a warning, the reply to `settle-taken`, or the reason why the
 * worker itself failed.
 */
export interface WorkerReply {
  readonly id?: number
  readonly answer?: Answer
  readonly error?: { readonly code?: string | undefined; readonly message: string }
  /** True for the reply to `settle-taken`. It follows the answers. */
  readonly hasSettled?: boolean
  /** A warning from Node in the worker, for example that certificates are not verified. */
  readonly warning?: { readonly name: string; readonly code?: string | undefined; readonly message: string }
}

/**
 * The whole code of the worker: makes requests as they come, and replies with each answer. The worker gets the
 * function as text, and the package publishes it as text (`rolldown.config.js`). So the function cannot use anything
 * from outside itself. It uses `node:http`, which loads in a fraction of the time that undici takes.
 */
export function runRequestWorker(): void {
  const { port, replies, end } = process.getBuiltinModule('node:worker_threads').workerData as {
    port: MessagePort
    replies: Int32Array
    end: Int32Array
  }
  const net = process.getBuiltinModule('node:net')
  const agents: Record<string, Agent> = {}
  /** For each request in flight, ends the wait for the rest of its answer if a 2xx status has arrived. */
  const settleIfTaken = new Set<() => void>()
  let isWaking = false
  /** Doubled when an address needs more time; less than the `maxAttemptMs` of `http/address-choice.ts`, as time is short. */
  let attemptMs: number | undefined
  /** For each host, the address to begin with, as in `http/address-choice.ts`. */
  const firstAddresses = new Map<string, string | undefined>()

  process.on('uncaughtException', error => reply({ error: { message: String(error) } }))
  process.on('warning', ({ name, message, code }: NodeJS.ErrnoException) => reply({ warning: { name, message, code } }))
  process.on('exit', () => {
    Atomics.store(end, 0, 1)
    Atomics.notify(end, 0)
  })
  port.on('message', (message: WorkerMessage) => {
    if (message === 'end') process.exit()
    else if (message !== 'settle-taken') run(message)
    else {
      for (const settle of [...settleIfTaken]) settle()
      reply({ hasSettled: true })
    }
  })

  /**
   * Called once for all replies of a turn of the event loop, because waking the main thread costs as much as a request.
   */
  function wakeMain(): void {
    isWaking = false
    Atomics.add(replies, 0, 1)
    Atomics.notify(replies, 0)
  }

  function reply(one: WorkerReply): void {
    port.postMessage(one)
    if (isWaking) return
    isWaking = true
    setImmediate(wakeMain)
  }

  /** The same as in `http/verified-tls.ts`. This thread is ended during a handshake if the time for the end is up. */
  function holdUntilVerified(socket: Socket & { readonly encrypted?: boolean }): void {
    if (!socket.connecting || socket.encrypted !== true) return
    socket.cork()
    socket.once('secureConnect', socket.uncork)
  }

  const lookup: LookupFunction = (hostname, options, callback) => {
    process.getBuiltinModule('node:dns').lookup(hostname, options, (error, found, family) => {
      if (!Array.isArray(found)) return callback(error, found, family)
      const first = found.findIndex(({ address }) => address === firstAddresses.get(hostname))
      callback(error, first > 0 ? [...found.slice(first), ...found.slice(0, first)] : found)
    })
  }

  /** `tls.setDefaultCACertificates` has changed the authorities of the main thread alone. */
  function trust(authorities: string[]): void {
    const tls = process.getBuiltinModule('node:tls')
    const own = tls.getCACertificates('default')
    if (own.length === authorities.length && own.every((one, n) => one === authorities[n])) return
    tls.setDefaultCACertificates(authorities)
  }

  function run(request: WorkerRequest): void {
    const url = new URL(request.origin)
    if (request.trusted !== undefined) trust(request.trusted)
    if (!firstAddresses.has(url.hostname)) firstAddresses.set(url.hostname, request.firstAddress)
    const http = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http')
    const key = JSON.stringify([url.protocol, request.proxyEnv])
    const agent = agents[key] ?? new http.Agent({ keepAlive: true, proxyEnv: request.proxyEnv })
    agents[key] = agent
    const usedMs = attemptMs ?? request.attemptMs ?? net.getDefaultAutoSelectFamilyAttemptTimeout()
    const { method, path, headers } = request
    const addresses = { lookup, autoSelectFamily: true, autoSelectFamilyAttemptTimeout: usedMs }
    const options = { method, path, headers, agent, ...addresses }
    const outgoing = http.request(url, Object.assign({}, request.tls, options) as RequestOptions)
    outgoing.on('socket', socket => {
      if (!socket.connecting) return
      holdUntilVerified(socket)
      let attempts = 0
      socket.on('connectionAttempt', address => {
        if (++attempts > 1) firstAddresses.set(url.hostname, address)
      })
      socket.on('connectionAttemptTimeout', () => {
        attemptMs = Math.max(usedMs, Math.min(usedMs * 2, 2000))
      })
    })
    const timer = setTimeout(giveUp, request.timeoutMs)
    let openTimer: NodeJS.Timeout | undefined
    let body = Buffer.alloc(0) // grows by doubling: keeping one-byte chunks one by one takes a hundred times as much
    let bytes = 0
    let head: IncomingMessage | undefined
    let isReplied = false

    function settle(cut: Answer['cut'], error?: NodeJS.ErrnoException): void {
      if (isReplied) return
      isReplied = true
      settleIfTaken.delete(settleTaken)
      clearTimeout(timer)
      clearTimeout(openTimer)
      if (head === undefined) {
        const message = (error?.message || error?.code) ?? 'the connection was closed without an answer'
        return reply({ id: request.id, error: { code: error?.code, message } })
      }
      const { statusCode, headers } = head
      reply({
        id: request.id,
        answer: { status: statusCode as number, headers: headers, body: body.subarray(0, bytes), cut: cut },
      })
    }
    function settleTaken(): void {
      if (head !== undefined && (head.statusCode as number) < 300) settle('interrupted')
    }
    function giveUp(): void {
      refuse(`no complete answer within ${Math.ceil(request.timeoutMs)} ms`)
    }

    function take(response: IncomingMessage): void {
      head = response
      const isTaken = (response.statusCode as number) < 300
      const maxBytes = isTaken ? request.maxBytes : 65_536
      if (isTaken) openTimer = setTimeout(giveUp, 1000) // some answers never end, and other requests wait
      response.on('data', chunk => {
        const neededBytes = bytes + chunk.length
        if (neededBytes > body.length)
          body = Buffer.concat([body], Math.max(neededBytes, Math.min(neededBytes * 2, maxBytes)))
        bytes += chunk.copy(body, bytes)
        if (bytes <= maxBytes) return
        settle('too-long')
        outgoing.destroy()
      })
      response.on('end', () => settle(undefined))
    }
    /** The same as in `http/connections.ts`: the service cannot have taken a body that was not sent. */
    function takeIfSent(response: IncomingMessage): void {
      if (outgoing.writableFinished) take(response)
      else refuse('the service answered before it had received the request')
    }
    function refuse(message: string): void {
      settle('interrupted', new Error(message))
      outgoing.destroy()
    }

    settleIfTaken.add(settleTaken)
    outgoing.on('response', response => {
      response.on('error', error => settle('interrupted', error))
      if ((response.statusCode as number) < 200) refuse('the answer has no valid status')
      else if (outgoing.writableFinished || (response.statusCode as number) >= 300) take(response)
      else setImmediate(takeIfSent, response)
    })
    outgoing.on('error', error => settle('interrupted', error))
    outgoing.on('close', () => settle('interrupted'))
    outgoing.end(request.body)
  }
}
