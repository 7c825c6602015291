import * as v from 'valibot'
import { Credentials } from '../http/credentials.ts'
import { expectedToken, TokenSchema } from '../options/checks.ts'
import { kindOf } from '../options/described.ts'
import type { ObtainAccessToken } from '../options/obtain-access-token.ts'
import { milliseconds } from '../text/milliseconds.ts'
import type { Redact } from '../text/short-line.ts'
import { beforeAbort, deadline } from '../time-limits.ts'
import { OrgError } from './org-error.ts'
import { printableCause } from './printable-cause.ts'

/** An access token that a function of the application obtains. The token is kept until the service refuses it. */
export class AccessToken {
  readonly #obtain: ObtainAccessToken
  readonly #timeoutMs: number
  #held: Credentials | undefined
  /** The last token that the service refused. */
  #refused: Credentials | undefined
  #asking: Promise<Credentials> | undefined

  constructor(obtain: ObtainAccessToken, timeoutMs: number) {
    this.#obtain = obtain
    this.#timeoutMs = timeoutMs
  }

  /**
   * Returns the held token, or obtains a new one if there is none or if the held token is `refused`. Concurrent callers
   * share one call of the function.
   *
   * @param refused token that the service has refused
   * @throws OrgError with `code` `TOKEN_UNAVAILABLE` if the function fails, gives no usable token, or takes too long
   */
  async get(refused?: Credentials): Promise<Credentials> {
    if (this.#held !== undefined && this.#held === refused) {
      this.#refused = refused
      this.#held = undefined
    }
    if (this.#held !== undefined) return this.#held
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  /** Removes the held token and the last refused token from a text. */
  readonly redact: Redact = (text, kind) => {
    const withoutHeld = this.#held?.redact(text, kind) ?? text
    return this.#refused?.redact(withoutHeld, kind) ?? withoutHeld
  }

  async #ask(): Promise<Credentials> {
    const token = await this.#obtained()
    if (!v.is(TokenSchema, token)) {
      const message = `the accessToken function must return ${expectedToken}; it returned ${kindOf(token)}`
      throw new OrgError('TOKEN_UNAVAILABLE', message)
    }
    this.#held = new Credentials(token)
    return this.#held
  }

  async #obtained(): Promise<unknown> {
    const controller = new AbortController()
    const { signal } = controller
    const stopClock = deadline(this.#timeoutMs, () => controller.abort(), { keepsAlive: false })
    try {
      const token = (async () => this.#obtain({ renew: this.#refused !== undefined, signal }))()
      return await beforeAbort(token, signal, () => new Error(`no token within ${milliseconds(this.#timeoutMs)}`))
    } catch (error) {
      const cause = printableCause(error, this.redact)
      throw new OrgError('TOKEN_UNAVAILABLE', 'the accessToken function failed; see the cause', { cause })
    } finally {
      stopClock()
    }
  }
}
