import { NativePromise } from '../native-promise.ts'
import { Secret } from '../text/secret.ts'
import type { TextKind } from '../text/short-line.ts'

/** Shorter tokens are used in tests, and would be found inside ordinary words. */
const minTokenLength = 8
/** The cost of scrypt: about ten milliseconds and 4 MiB. */
const proofCost = 4096

/** The headers that authenticate a request. They are in private fields, so that printing an object shows no secret. */
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

  /** Returns an HMAC-SHA256 of a text under the token, in hexadecimal digits. */
  digest(text: string): string {
    const { createHmac } = process.getBuiltinModule('node:crypto')
    return createHmac('sha256', this.#token).update(text).digest('hex')
  }

  /**
   * Returns a text from which another process can tell if it has the same credentials, by the same `salt`. To try a single
   * token takes ten milliseconds, so that a token cannot be guessed quickly. Many processes may do that at the same time.
   */
  proof(salt: string): Promise<string> {
    const { scrypt } = process.getBuiltinModule('node:crypto')
    const { promise, resolve, reject } = NativePromise.withResolvers<string>()
    scrypt(JSON.stringify(this.#headers), salt, 16, { N: proofCost }, (error, key) =>
      error ? reject(error) : resolve(key.toString('hex')),
    )
    return promise
  }

  /**
   * Returns a text without the token, in whatever form a server may repeat it. A token shorter than `minTokenLength` is
   * removed only as a whole word, and not from messages of this package.
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
