import type { MessagePort, Worker } from 'node:worker_threads'
import { emitWarningNow } from '../accounting/diagnostics.ts'
import { monotonicMs } from '../time.ts'
import type { Answer } from './exchange.ts'
import { runRequestWorker, type WorkerReply, type WorkerRequest } from './request-worker.ts'

/** Longest that the end of the worker is waited for, in milliseconds; it takes one or two. */
const endTimeoutMs = 500

/** What comes back: an answer, or why there is none. */
export type WorkerResult = Answer | Error

/**
 * Makes requests in a worker thread, for a main thread whose event loop stands still: inside a handler of 'exit' no socket
 * of its own is served any more, but it can wait.
 */
export class WorkerHttpClient {
  readonly #worker: Worker
  readonly #port: MessagePort
  /** Counts what the worker has reported; the main thread sleeps on it. */
  readonly #replies = new Int32Array(new SharedArrayBuffer(4))
  /** Whether the worker has come to its end; the main thread sleeps on that, too. */
  readonly #end = new Int32Array(new SharedArrayBuffer(4))
  readonly #recipients = new Map<number, (receipt: WorkerResult) => void>()
  readonly #receive: (port: MessagePort) => { message: WorkerReply } | undefined
  #seen = 0
  #lastId = 0

  /** @throws where no worker may be started */
  constructor() {
    // Loaded here, as it takes longer than all that a log call needs.
    const { MessageChannel, receiveMessageOnPort, Worker } = process.getBuiltinModule('node:worker_threads')
    leaveRemovedFolder()
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    this.#port.unref()
    this.#receive = receiveMessageOnPort
    // As text, the worker needs no file: none can be found in a bundled application.
    this.#worker = new Worker(`(${runRequestWorker})()`, {
      eval: true,
      execArgv: [], // without it, and with NODE_OPTIONS, what the application preloads would run again
      env: workerEnvironment(),
      workerData: { port: port2, reports: this.#replies, end: this.#end },
      transferList: [port2],
      stdout: true, // not piped to that of the process, which would have to be opened first
      stderr: true,
    })
    this.#worker.on('error', () => {}) // where the process goes on
    this.#worker.unref()
  }

  /** Makes a request; `onReceipt` is called inside `wait`. */
  post(request: Omit<WorkerRequest, 'id'>, onReceipt: (receipt: WorkerResult) => void): void {
    const id = ++this.#lastId
    const body = new Uint8Array(request.body) // a copy: the worker gets it, and a retry needs the original
    this.#recipients.set(id, onReceipt)
    this.#port.postMessage({ ...request, id, body } satisfies WorkerRequest, [body.buffer])
  }

  /**
   * Waits for a receipt, at most until then (monotonic, in milliseconds), and gives every receipt there is to whom it
   * belongs.
   *
   * @throws when the worker has failed
   */
  wait(untilMs: number): void {
    Atomics.wait(this.#replies, 0, this.#seen, Math.max(untilMs - monotonicMs(), 0))
    this.#seen = Atomics.load(this.#replies, 0)
    for (let next = this.#receive(this.#port); next !== undefined; next = this.#receive(this.#port)) {
      const { id, answer, error, warning } = next.message
      if (warning !== undefined) {
        emitWarningNow(warning)
        continue
      }
      if (id === undefined) throw new Error(error?.message)
      const onResult = this.#recipients.get(id)
      this.#recipients.delete(id)
      onResult?.(answer ?? Object.assign(new Error(error?.message), { code: error?.code }))
    }
  }

  /**
   * Ends the worker, and waits for that. At the end of the process Node would wait for it, and meanwhile collect no garbage
   * for the compilers that V8 runs in other threads: where one of them needs that, such a process hangs and never ends.
   */
  terminate(): void {
    this.#port.postMessage(null)
    if (Atomics.wait(this.#end, 0, 0, endTimeoutMs) === 'timed-out') void this.#worker.terminate()
  }
}

/** No worker starts in a folder that is gone, as that of an old release may be. Nothing can be found in it any more. */
function leaveRemovedFolder(): void {
  try {
    process.getBuiltinModule('node:fs').realpathSync.native('.')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') process.chdir('/')
  }
}

/**
 * The process's own, for NODE_EXTRA_CA_CERTS and its kind, without what the application preloads, and without the proxies of
 * Node's `fetch`, which take long to load: each errand names its own.
 */
function workerEnvironment(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS, NODE_USE_ENV_PROXY: _, ...environment } = process.env
  const usesSystemCa = process.execArgv.includes('--use-system-ca') || NODE_OPTIONS?.includes('--use-system-ca')
  return usesSystemCa ? { ...environment, NODE_USE_SYSTEM_CA: '1' } : environment
}
