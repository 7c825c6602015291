import { randomUUID } from 'node:crypto'
import { ownProperties } from '../own-properties.ts'
import { type Answer, refusal } from './answer.ts'
import type { Exchange } from './exchange.ts'
import type { Organizations } from './organizations.ts'

/** An operation that a token can permit. The specification names no actions, so each of its operations has one here. */
export type TokenAction = 'ingest' | 'org:read' | 'org:write'

/** A token that the emulator accepts, and the operations that it permits. */
export type TokenGrant = {
  /** The token itself: visible ASCII characters. @defaultValue a random token */
  token?: string | undefined
  /**
   * Ids of the organizations that the token belongs to. An API token ingests for the first organization in the list, or
   * for the default organization if there is no list.
   *
   * @defaultValue '*', all organizations
   */
  orgs?: readonly string[] | '*' | undefined
} & (
  | {
      /** An API token. It permits only the listed actions and datasets. */
      kind: 'api'
      actions: readonly TokenAction[]
      /** Names of the datasets that the token permits ingestion into. @defaultValue '*', all datasets */
      datasets?: readonly string[] | '*' | undefined
    }
  | {
      /**
       * A personal access token. It permits every operation, but each request must name the organization in a header.
       */
      kind: 'personal'
    }
  | {
      /** An access token from an OAuth 2.0 flow. It permits reading and updating organizations. */
      kind: 'access'
    }
)

/** The operation that a request asks to perform. */
export type Wish = { action: 'ingest'; dataset: string } | { action: 'org:read' | 'org:write'; orgId: string }

/** The tokens that the emulator accepts now. */
export class Tokens {
  #grants = new Map<string, TokenGrant>()
  #organizations: Organizations
  #orgIdHeader: string

  constructor(organizations: Organizations, orgIdHeader: string) {
    this.#organizations = organizations
    this.#orgIdHeader = orgIdHeader
  }

  /** @param name of the grant, for the error if its token is accepted already, which does not contain the token */
  add(given: TokenGrant, name = 'grant'): string {
    const grant = ownProperties(structuredClone(given))
    const token = grant.token ?? `${grant.kind}-${randomUUID()}`
    if (this.#grants.has(token)) throw new RangeError(`${name}.token must be in no other grant`)
    this.#grants.set(token, grant)
    return token
  }

  revoke(token: string): boolean {
    return this.#grants.delete(token)
  }

  /**
   * Checks the token of a request against the operation, and determines the organization that the request acts for.
   * Every failure is a 403, as the specification requires.
   */
  admit({ request: { headers }, entry }: Exchange, wish: Wish): Answer | undefined {
    const token = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]
    if (token === undefined) return forbidden('the Authorization header must be "Bearer <token>"')
    const grant = this.#grants.get(token)
    if (!grant) return forbidden('the token is unknown')
    if (!isFor(grant, wish)) return forbidden('the token does not allow this')
    if (grant.kind === 'personal' && !this.#namesItsOrg(grant, headers[this.#orgIdHeader], wish)) {
      return forbidden(`a personal access token needs the header ${this.#orgIdHeader} with the id of its organization`)
    }
    entry.orgId = wish.action === 'ingest' ? this.#ownerOf(grant, headers[this.#orgIdHeader]) : wish.orgId
    return undefined
  }

  /** Replaces every accepted token in a text for people. */
  redact(text: string): string {
    return [...this.#grants.keys()].reduce((rest, token) => rest.replaceAll(token, '(redacted)'), text)
  }

  #namesItsOrg(grant: TokenGrant, named: string | string[] | undefined, wish: Wish): boolean {
    if (typeof named !== 'string' || !this.#organizations.get(named) || !belongsTo(grant, named)) return false
    return wish.action === 'ingest' || wish.orgId === named
  }

  /** Returns the id of the organization that the events are ingested for. */
  #ownerOf(grant: TokenGrant, named: string | string[] | undefined): string {
    if (grant.kind === 'personal') return String(named)
    return (Array.isArray(grant.orgs) && grant.orgs[0]) || this.#organizations.defaultId
  }
}

function isFor(grant: TokenGrant, wish: Wish): boolean {
  if (wish.action === 'ingest') {
    if (grant.kind === 'api') return grant.actions.includes('ingest') && includes(grant.datasets, wish.dataset)
    return grant.kind === 'personal'
  }
  if (grant.kind === 'api' && !grant.actions.includes(wish.action)) return false
  return belongsTo(grant, wish.orgId)
}

function belongsTo(grant: TokenGrant, orgId: string): boolean {
  return includes(grant.orgs, orgId)
}

function includes(names: readonly string[] | '*' | undefined, name: string): boolean {
  return names === undefined || names === '*' || names.includes(name)
}

function forbidden(message: string): Answer {
  return refusal(403, 'forbidden', message)
}
