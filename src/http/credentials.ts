/** Headers that authenticate a request. Not enumerable, so that printing an object that holds them shows nothing. */
export class Credentials {
  readonly #token: string
  readonly #headers: Readonly<Record<string, string>>

  constructor(token: string, orgIdHeader?: string, orgId?: string) {
    this.#token = token
    const organization = orgIdHeader !== undefined && orgId !== undefined ? { [orgIdHeader]: orgId } : {}
    this.#headers = { authorization: `Bearer ${token}`, ...organization }
  }

  headers(): Readonly<Record<string, string>> {
    return this.#headers
  }

  /** The text without the token, should a server repeat it to us. */
  redact(text: string): string {
    return text.replaceAll(this.#token, '[token]')
  }
}
