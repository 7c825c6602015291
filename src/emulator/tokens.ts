import { randomUUID } from 'node:crypto'
import { ownProperties } from '../options/own-properties.ts'
import { type Answer, refusal } from './answer.ts'
import type { Exchange } from './exchange.ts'
import type { Organizations } from './organizations.ts'

/** What a token can be set up for. The specification names no actions; these are one for each operation it describes. */
export type TokenAction = 'ingest' | 'org:read' | 'org:write'

/** A token that the emulator accepts, and for what. */
export type TokenGrant = {
  /** The token itself: visible ASCII characters. @defaultValue a random one */
  token?: string | undefined
  /**
   * Ids of the organizations it belongs to. An API token ingests for the first of them, by default for the default one.
   *
   * @defaultValue '*', all of them
   */
  orgs?: readonly string[] | '*' | undefined
} & (
  | {
      /** An API token: limited to what it was set up for. */
      kind: 'api'
      actions: readonly TokenAction[]
      /** Names of the datasets it may ingest into. @defaultValue '*', all of them */
      datasets?: readonly string[] | '*' | undefined
    }
  | {
      /** A personal access token: may do everything, but each request must name the organization in a header. */
      kind: 'personal'
    }
  | {
      /** An access token from an OAuth 2.0 flow: reads and updates organizations. */
      kind: 'access'
    }
)

/** What a request wants to do. */
export type Wish = { action: 'ingest'; dataset: string } | { action: 'org:read' | 'org:write'; orgId: string }

/** The tokens that are accepted now. */
export class Tokens {
  #grants = new Map<string, TokenGrant>()
  #organizations: Organizations
  #orgIdHeader: string

  constructor(organizations: Organizations, orgIdHeader: string) {
    this.#organizations = organizations
    this.#orgIdHeader = orgIdHeader
  }

  add(given: TokenGrant): string {
    const grant = ownProperties(structuredClone(given))
    const token = grant.token ?? `${grant.kind}-${randomUUID()}`
    if (this.#grants.has(token)) throw new TypeError('a token must be in one grant only, and this one is in two')
    this.#grants.set(token, grant)
    return token
  }

  revoke(token: string): boolean {
    return this.#grants.delete(token)
  }

  /**
   * Decides whether a request may do what it wishes, and for which organization; every way to fail is a 403, as the
   * specification has it.
   */
  admit({ request: { headers }, entry }: Exchange, wish: Wish): Answer | undefined {
    const token = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]
    if (token === undefined) return forbidden('the Authorization header must be present and say "Bearer <token>"')
    const grant = this.#grants.get(token)
    if (!grant) return forbidden('this token is not known')
    if (!isFor(grant, wish)) return forbidden('this token may not do that')
    if (grant.kind === 'personal' && !this.#namesItsOrg(grant, headers[this.#orgIdHeader], wish)) {
      return forbidden(`a personal access token needs the header ${this.#orgIdHeader} with the id of its organization`)
    }
    entry.orgId = wish.action === 'ingest' ? this.#ownerOf(grant, headers[this.#orgIdHeader]) : wish.orgId
    return undefined
  }

  /** Replaces every known token in a text that people will see. */
  redact(text: string): string {
    return [...this.#grants.keys()].reduce((rest, token) => rest.replaceAll(token, '(redacted)'), text)
  }

  #namesItsOrg(grant: TokenGrant, named: string | string[] | undefined, wish: Wish): boolean {
    if (typeof named !== 'string' || !this.#organizations.get(named) || !belongsTo(grant, named)) return false
    return wish.action === 'ingest' || wish.orgId === named
  }

  /** The organization that events are ingested for. */
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
