import { Connections } from '../http/connections.ts'
import type { Credentials } from '../http/credentials.ts'
import type { Dispatcher } from '../http/dispatcher.ts'
import { exchange } from '../http/exchange.ts'
import { NativePromise } from '../native-promise.ts'
import { ownProperties } from '../own-properties.ts'
import type { Redact } from '../text/short-line.ts'
import { monotonicMs, systemTimeMs } from '../time.ts'
import { beforeAbort, deadline } from '../time-limits.ts'
import { AccessToken } from './access-token.ts'
import { answerToOrg, maxAnswerBytes } from './answer-to-org.ts'
import { checkedId, checkedUpdate } from './arguments.ts'
import type { OrgClientOptions } from './client-options.ts'
import { noAnswer } from './no-answer.ts'
import { OrgError } from './org-error.ts'
import type { Org, OrgUpdate } from './organization.ts'
import type { Tolerance } from './organization-schema.ts'
import { type Operation, orgRequest } from './request.ts'
import { type ResolvedOrgClientOptions, resolveClientOptions } from './resolve-client-options.ts'
import { retryDelayMs } from './retry-delay.ts'

const maxConnections = 4

/** Settings for a client that the shipper uses, not the application. */
interface OrgClientUse {
  /**
   * True if a call keeps the process alive until the call is answered.
   *
   * @defaultValue true
   */
  readonly keepsAlive?: boolean
  /** Accepts an organization with invalid fields. */
  readonly tolerance?: Tolerance
  /** Awaited before each attempt. */
  readonly turn?: () => Promise<void>
  /**
   * Maximum number of attempts of a call.
   *
   * @defaultValue 3
   */
  readonly maxAttempts?: number
  /** Removes further secrets, besides the token of the client, from texts of the service. */
  readonly redact?: Redact
}

/** A call in progress. */
interface Call {
  readonly operation: Operation
  /** The connections of the call, also if `close` is called meanwhile. */
  readonly dispatcher: Dispatcher
  readonly signal: AbortSignal
}

/**
 * Reads and updates organizations. Applications create a client with `createOrgClient`.
 *
 * Both operations are idempotent. The client attempts each up to three times if the service is unreachable, in trouble,
 * or asked too often (status 429 or 430). It does not retry if the wait would exceed `timeoutMs`. If the service closes a
 * kept connection at the moment of its reuse, the request is made again, and counts once.
 *
 * A call keeps the process alive until the call is answered; open connections do not. An answer may have up to 1 MiB.
 */
export class OrgClient {
  readonly #options: ResolvedOrgClientOptions
  readonly #keepsAlive: boolean
  readonly #tolerance: OrgClientUse['tolerance']
  readonly #turn: OrgClientUse['turn']
  readonly #maxAttempts: OrgClientUse['maxAttempts']
  readonly #redact: OrgClientUse['redact']
  readonly #calls = new Map<Promise<unknown>, AbortController>()
  #connections: Connections | undefined

  /** @internal */
  constructor(options: ResolvedOrgClientOptions, use: OrgClientUse = {}) {
    const { keepsAlive = true, tolerance, turn, maxAttempts, redact } = ownProperties(use)
    this.#options = options
    this.#keepsAlive = keepsAlive
    this.#tolerance = tolerance
    this.#turn = turn
    this.#maxAttempts = maxAttempts
    this.#redact = redact
  }

  /**
   * Reads an organization.
   *
   * @param id identifier of the organization
   * @throws OrgError if the organization could not be read
   * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if `id` is malformed
   */
  async get(id: string): Promise<Org> {
    return this.#call({ method: 'GET', id: checkedId(id), body: undefined })
  }

  /**
   * Changes an organization.
   *
   * @param id identifier of the organization
   * @param update the fields to change
   * @returns the organization after the change
   * @throws OrgError if the organization could not be updated
   * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if an argument is malformed
   */
  async update(id: string, update: OrgUpdate): Promise<Org> {
    const body = Buffer.from(JSON.stringify(checkedUpdate(update)))
    return this.#call({ method: 'PUT', id: checkedId(id), body })
  }

  /**
   * Aborts the calls in progress, and closes the connections.
   *
   * @internal
   */
  abandon(): Promise<void> {
    const reason = new OrgError('UNREACHABLE', 'the call was aborted')
    for (const controller of this.#calls.values()) controller.abort(reason)
    return this.close()
  }

  /** Waits for the calls in progress, then closes the connections. A later call opens new ones. */
  async close(): Promise<void> {
    const connections = this.#connections
    this.#connections = undefined // first: a call that begins meanwhile has connections of its own
    await Promise.allSettled(this.#calls.keys())
    connections?.destroy()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Runs an operation within `timeoutMs`. */
  async #call(operation: Operation): Promise<Org> {
    const dispatcher = this.#dispatcher()
    const controller = new AbortController()
    const stopClock = deadline(this.#options.timeoutMs, () => controller.abort(), { keepsAlive: this.#keepsAlive })
    const call = this.#run({ operation, dispatcher, signal: controller.signal })
    this.#calls.set(call, controller)
    try {
      return await call
    } finally {
      stopClock()
      this.#calls.delete(call)
    }
  }

  /**
   * Attempts an operation until it succeeds, until another attempt would not help, or until it would start too late.
   */
  async #run(call: Call): Promise<Org> {
    const { signal } = call
    const endMs = monotonicMs() + this.#options.timeoutMs
    let credentials = await this.#credentials(signal)
    let mayRenew = this.#options.credentials instanceof AccessToken
    let attempts = 0
    for (;;) {
      await this.#turn?.()
      const result = await this.#attempt(call, credentials)
      if (!(result instanceof OrgError)) return result
      if (result.code === 'UNAUTHORIZED' && mayRenew) {
        mayRenew = false
        credentials = await this.#credentials(signal, credentials)
        continue
      }
      attempts += 1
      const delayMs = retryDelayMs(result, attempts, Math.random(), this.#maxAttempts)
      if (delayMs === undefined || monotonicMs() + delayMs >= endMs || signal.aborted) throw result
      await this.#wait(delayMs, signal)
    }
  }

  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = NativePromise.withResolvers<void>()
    const stopClock = deadline(ms, resolve, { keepsAlive: this.#keepsAlive })
    await beforeAbort(promise, signal, () => this.#cutShort(signal, 'the service')).finally(stopClock)
  }

  async #attempt(call: Call, credentials: Credentials): Promise<Org | OrgError> {
    const { signal } = call
    const result = await this.#answer(call, credentials)
    const isCutShort = signal.aborted && result instanceof OrgError && result.code === 'UNREACHABLE'
    return isCutShort ? this.#cutShort(signal, 'the service') : result
  }

  async #answer({ operation, dispatcher, signal }: Call, credentials: Credentials): Promise<Org | OrgError> {
    const { baseUrl, timeoutMs, proxy } = this.#options
    const redact: Redact = (text, kind) => {
      const withoutToken = credentials.redact(text, kind)
      const rest = proxy.credentials?.redact(withoutToken, kind) ?? withoutToken
      return this.#redact?.(rest, kind) ?? rest
    }
    try {
      const request = orgRequest(baseUrl, operation, credentials.headers())
      const answer = await exchange(dispatcher, request, timeoutMs, signal, maxAnswerBytes)
      return answerToOrg(answer, redact, systemTimeMs(), this.#tolerance)
    } catch (error) {
      return noAnswer(error, redact, this.#options.dispatcher === undefined ? proxy : undefined)
    }
  }

  async #credentials(signal: AbortSignal, refused?: Credentials): Promise<Credentials> {
    const { credentials } = this.#options
    if (!(credentials instanceof AccessToken)) return credentials
    return beforeAbort(credentials.get(refused), signal, () => this.#cutShort(signal, 'the accessToken function'))
  }

  #cutShort({ reason }: AbortSignal, awaited: string): OrgError {
    if (reason instanceof OrgError) return reason
    return new OrgError('TIMEOUT', `timeoutMs (${this.#options.timeoutMs}) ran out while waiting for ${awaited}`)
  }

  #dispatcher(): Dispatcher {
    if (this.#options.dispatcher !== undefined) return this.#options.dispatcher
    this.#connections ??= new Connections(this.#options.baseUrl.origin, maxConnections, this.#options)
    return this.#connections
  }
}

/**
 * Creates a client that reads and updates organizations.
 *
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if an option is missing or malformed
 * @throws Error if this version of Node is too old
 */
export function createOrgClient(options?: OrgClientOptions): OrgClient {
  return new OrgClient(resolveClientOptions(options, process.env))
}
