import { Secret } from '../text/secret.ts'
import type { TextKind } from '../text/short-line.ts'

/** Shorter tokens stand in tests, and would be found in the middle of ordinary words. */
const minTokenLength = 8

/** Headers that authenticate a request. Not enumerable, so that printing an object that holds them shows nothing. */
export class Credentials {
  readonly #token: string
  #secret: Secret | undefined
  readonly #headers: Readonly<Record<string, string>>

  constructor(token: string, orgIdHeader?: string, orgId?: string) {
    this.#token = token
    const organization = orgIdHeader !== undefined && orgId !== undefined ? { [orgIdHeader]: orgId } : {}
    this.#headers = { authorization: `Bearer ${token}`, ...organization }
  }

  headers(): Readonly<Record<string, string>> {
    return this.#headers
  }

  /**
   * The text without the token, should a server repeat it to us in whatever form. A token too short to be one is left in
   * words, and in messages of our own.
   */
  redact(text: string, kind: TextKind = 'piece'): string {
    if (this.#token.length < minTokenLength) {
      if (kind === 'message') return text
      return text.replaceAll(/[\x21-\x7e]+/g, word => (word === this.#token ? '[token]' : word))
    }
    this.#secret ??= new Secret(this.#token)
    return this.#secret.replacedIn(text, '[token]')
  }
}
