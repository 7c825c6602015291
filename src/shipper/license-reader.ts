import type { RateLimiter } from '../delivery/rate-limiter.ts'
import type { ResolvedLimits } from '../options/resolve-limits.ts'
import type { ResolvedOptions } from '../options/resolved-options.ts'
import type { OrgClient } from '../org/client.ts'
import type { Org } from '../org/organization.ts'
import { isUsed } from '../org/used-org.ts'
import type { Redact } from '../text/short-line.ts'
import { delay, monotonicMs } from '../time.ts'

/** Maximum time for reading the organization, in milliseconds. It also limits the function that obtains a token. */
const readTimeoutMs = 10_000

/**
 * Maximum wait for a turn, in milliseconds. A later turn is not waited for, because the license may allow more than is
 * known.
 */
const maxTurnWaitMs = 2000

interface LicenseReaderDeps {
  readonly options: Pick<ResolvedOptions, 'baseUrl' | 'dispatcher' | 'tls' | 'proxy'>
  readonly limits: Pick<ResolvedLimits, 'bearer' | 'orgId'>
  readonly rateLimiter: Pick<RateLimiter, 'notBeforeMs' | 'onOtherRequest'>
  /** Returns true once the request rate of the license has been read. */
  readonly isRateKnown: () => boolean
  readonly redact: Redact
}

/**
 * Reads the organization. The client is loaded for the first read, and neither a log call nor the end of the process
 * waits for it.
 */
export class LicenseReader {
  readonly #deps: LicenseReaderDeps
  #client: Promise<OrgClient> | undefined
  /** The tokens of the client, if they are known yet. */
  #tokens: { redact(...given: Parameters<Redact>): string } | undefined
  #onUnusable: (problem: string) => void = () => {}
  #isOpen = false

  constructor(deps: LicenseReaderDeps) {
    const { bearer } = deps.limits
    this.#deps = deps
    this.#tokens = typeof bearer === 'function' ? undefined : bearer
  }

  open(): void {
    this.#isOpen = true
  }

  /**
   * @param onUnusable called with each part of the answer that cannot be used
   * @throws OrgError if the organization could not be read
   */
  async read(onUnusable: (problem: string) => void): Promise<Org> {
    this.#onUnusable = onUnusable
    this.#client ??= this.#openClient().catch(error => {
      this.#client = undefined // without a file descriptor, for example, the client cannot be loaded now
      throw error
    })
    const client = await this.#client
    if (!this.#isOpen) throw new Error('closed while the client was loaded')
    return client.get(this.#deps.limits.orgId)
  }

  /** Removes the tokens from a text. */
  redact(...[text, kind]: Parameters<Redact>): string {
    return this.#tokens?.redact(text, kind) ?? text
  }

  /** Ends a read in progress. The client is used again after `open`. */
  async close(): Promise<void> {
    this.#isOpen = false
    await this.#client?.then(client => client.abandon()).catch(() => {}) // without a client, nothing is to be closed
  }

  async #openClient(): Promise<OrgClient> {
    const { AccessToken } = await import('../org/access-token.ts')
    const { OrgClient } = await import('../org/client.ts')
    const { options, limits, redact } = this.#deps
    const { bearer } = limits
    const credentials = typeof bearer === 'function' ? new AccessToken(bearer, readTimeoutMs) : bearer
    this.#tokens = credentials
    const { baseUrl, dispatcher, tls, proxy } = options
    const tolerance = { isUsed, onUnusable: (problem: string) => this.#onUnusable(problem) }
    return new OrgClient(
      { baseUrl, credentials, dispatcher, tls, proxy, timeoutMs: readTimeoutMs },
      // `Limits` reads again later. Many processes that start at the same time may fill the limit with their reads.
      { keepsAlive: false, maxAttempts: 1, tolerance, turn: () => this.#turn(), redact },
    )
  }

  /**
   * Waits for a turn among the batches, because reads count as requests. The first read does not wait: its answer tells
   * the rate.
   */
  async #turn(): Promise<void> {
    const { rateLimiter, isRateKnown } = this.#deps
    const nowMs = monotonicMs()
    const waitMs = isRateKnown() ? rateLimiter.notBeforeMs(nowMs) - nowMs : 0
    if (waitMs > 0 && waitMs <= maxTurnWaitMs) await delay(waitMs, undefined, { ref: false })
    rateLimiter.onOtherRequest(monotonicMs())
  }
}
