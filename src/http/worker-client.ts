import type { MessagePort, Worker } from 'node:worker_threads'
import { emitWarningNow } from '../accounting/diagnostics.ts'
import { ownProperties } from '../own-properties.ts'
import { isOutOfDescriptors } from '../text/out-of-descriptors.ts'
import { monotonicMs } from '../time.ts'
import type { Answer } from './exchange.ts'
import { runRequestWorker, type WorkerMessage, type WorkerReply, type WorkerRequest } from './request-worker.ts'

/** Maximum time to wait for the end of the worker, in milliseconds. The worker usually takes one or two. */
const endTimeoutMs = 500

/** Maximum time to wait for the answers that have arrived in part, in milliseconds. */
const takenTimeoutMs = 50

/** File descriptors that a worker thread and its connection take. (Measured on Linux, Node 24.21.) */
export const workerDescriptors = 7

/** The result of a request: an answer, or the reason why there is none. */
type WorkerResult = Answer | Error

/**
 * Makes requests in a worker thread for a main thread whose event loop has stopped. In an 'exit' handler, the main
 * thread can serve no socket of its own, but it can wait.
 */
export class WorkerHttpClient {
  readonly #worker: Worker
  readonly #port: MessagePort
  /** Counts the replies of the worker. The main thread sleeps on it. */
  readonly #replies = new Int32Array(new SharedArrayBuffer(4))
  /** Becomes 1 when the worker has ended. The main thread sleeps on it, too. */
  readonly #end = new Int32Array(new SharedArrayBuffer(4))
  readonly #callbacks = new Map<number, (result: WorkerResult) => void>()
  readonly #receive: (port: MessagePort) => { message: WorkerReply } | undefined
  #seen = 0
  /** True if `wait` has left replies in the port, because its time was up. */
  #hasUnread = false
  #lastId = 0
  #hasSettled = false
  /** True once the worker knows which authorities this thread trusts. */
  #hasTrust = false

  /** @throws if no worker can be started */
  constructor() {
    // Loaded here, because loading takes longer than a whole log call.
    const { MessageChannel, receiveMessageOnPort, Worker } = process.getBuiltinModule('node:worker_threads')
    leaveRemovedFolder()
    checkDescriptors()
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    this.#port.unref()
    this.#receive = receiveMessageOnPort
    const options = ownProperties({
      eval: true,
      execArgv: [], // otherwise, as with NODE_OPTIONS, the worker would run the modules that the application preloads
      env: workerEnvironment(),
      workerData: { port: port2, replies: this.#replies, end: this.#end },
      transferList: [port2],
      stdout: true, // not piped to the stdout of the process, which would have to be opened first
      stderr: true,
    })
    // The worker gets its code as text: a bundled application has no file for it.
    this.#worker = new Worker(`(${runRequestWorker})()`, options)
    this.#worker.on('error', () => {}) // an error must not end a process that goes on
    this.#worker.unref()
  }

  /** Posts a request to the worker. `wait` calls `onResult` with the result. */
  post(request: Omit<WorkerRequest, 'id' | 'trusted'>, onResult: (result: WorkerResult) => void): void {
    const id = ++this.#lastId
    const trusted = this.#trustedFor(request)
    const body = new Uint8Array(request.body) // a copy: its buffer moves to the worker, and a retry needs the original
    this.#callbacks.set(id, onResult)
    this.#port.postMessage({ ...request, id, body, trusted } satisfies WorkerRequest, [body.buffer])
  }

  /**
   * The authorities for a request over TLS, unless it names its own, or the worker has them already. A proxy with TLS
   * needs them in any case.
   */
  #trustedFor({ origin, tls, proxyEnv }: Pick<WorkerRequest, 'origin' | 'tls' | 'proxyEnv'>): string[] | undefined {
    const isTrusting = tls?.ca === undefined && origin.startsWith('https:')
    const hasTlsProxy = Object.values(proxyEnv).some(value => value.startsWith('https:'))
    if (this.#hasTrust || !(isTrusting || hasTlsProxy)) return undefined
    this.#hasTrust = true
    const { getCACertificates, setDefaultCACertificates } = process.getBuiltinModule('node:tls')
    return setDefaultCACertificates === undefined ? undefined : [...getCACertificates('default')] // Bun has neither
  }

  /**
   * Passes on the answers with a 2xx status as far as they have arrived. No time is left for the rest, and the service
   * has taken these events.
   *
   * @throws if the worker itself has failed
   */
  settleTaken(): void {
    this.#hasSettled = false
    this.#say('settle-taken')
    const untilMs = monotonicMs() + takenTimeoutMs
    while (!this.#hasSettled && monotonicMs() < untilMs) this.wait(untilMs)
  }

  #say(message: WorkerMessage): void {
    this.#port.postMessage(message)
  }

  /**
   * Waits for a reply, at most until `untilMs` (monotonic, in milliseconds). Passes the replies to the functions that
   * were posted with their requests: all of them, or as many as the time allows, at least one. A function may take long,
   * and may post another request, whose reply comes before it returns.
   *
   * @throws if the worker itself has failed
   */
  wait(untilMs: number): void {
    if (!this.#hasUnread) Atomics.wait(this.#replies, 0, this.#seen, Math.max(untilMs - monotonicMs(), 0))
    this.#seen = Atomics.load(this.#replies, 0)
    this.#hasUnread = false
    for (let next = this.#receive(this.#port); next !== undefined; next = this.#receive(this.#port)) {
      const { id, answer, error, warning, hasSettled } = ownProperties(next.message)
      if (warning !== undefined) {
        emitWarningNow(warning)
        continue
      }
      if (hasSettled) {
        this.#hasSettled = true
        continue
      }
      if (id === undefined) throw new Error(error?.message)
      const onResult = this.#callbacks.get(id)
      this.#callbacks.delete(id)
      if (answer === undefined) onResult?.(Object.assign(new Error(error?.message), { code: error?.code }))
      else onResult?.({ ...answer, headers: ownProperties(answer.headers) })
      if (monotonicMs() < untilMs) continue
      this.#hasUnread = true
      return
    }
  }

  /**
   * Ends the worker, and waits for its end. Otherwise Node would wait at the end of the process, and meanwhile collect
   * no garbage for V8's compiler threads. If one of these threads needs a collection, the process hangs and never ends.
   */
  terminate(): void {
    this.#say('end')
    if (Atomics.wait(this.#end, 0, 0, endTimeoutMs) === 'timed-out') void this.#worker.terminate()
  }
}

/**
 * A worker without descriptors ends at once, which the main thread could not notice: it would wait in vain.
 *
 * @throws the error of the system if too few descriptors are left
 */
function checkDescriptors(): void {
  if (process.platform === 'win32') return
  const { closeSync, openSync } = process.getBuiltinModule('node:fs')
  const open: number[] = []
  try {
    while (open.length < workerDescriptors) open.push(openSync('/dev/null', 'r'))
  } catch (error) {
    if (isOutOfDescriptors(error)) throw error // otherwise, for example, this process may not read files
  } finally {
    for (const descriptor of open) closeSync(descriptor)
  }
}

/**
 * Leaves a working directory that was removed, for example with an old release. No worker starts in such a directory,
 * and it has no files any more.
 */
function leaveRemovedFolder(): void {
  try {
    process.getBuiltinModule('node:fs').realpathSync.native('.')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') process.chdir('/')
  }
}

/**
 * Returns the environment of the process, for variables like `NODE_EXTRA_CA_CERTS`. Leaves out the modules that the
 * application preloads, and the proxies of Node's `fetch`, which take long to load: each request names its own proxy.
 */
function workerEnvironment(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS, NODE_USE_ENV_PROXY: _, ...environment } = ownProperties(process.env)
  const usesSystemCa = process.execArgv.includes('--use-system-ca') || NODE_OPTIONS?.includes('--use-system-ca')
  return usesSystemCa ? { ...environment, NODE_USE_SYSTEM_CA: '1' } : environment
}
