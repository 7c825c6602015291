import { once } from 'node:events'
import type { Server } from 'node:http'
import { milliseconds } from '../text/milliseconds.ts'
import { systemTimeMs } from '../time.ts'
import type { EventObject } from './body-events.ts'
import { checkDelay, checkInteger, checkOptions, checkText } from './checks.ts'
import type { Connections } from './connections.ts'
import { type Enforcement, enforcedLimits } from './enforcement.ts'
import { Faults } from './faults.ts'
import { checkGrant } from './grant.ts'
import { checkOverrides, type Org, type OrgOverrides } from './organization.ts'
import type { ReceivedRequest } from './request-log.ts'
import type { Service } from './service.ts'
import { arrivedSoFar, type EmulatorStats, statsOf } from './stats.ts'
import type { TokenGrant } from './tokens.ts'

/**
 * A running emulator. It stores events by the name of their dataset alone, regardless of the organization. Only
 * enforced limits distinguish organizations: they count each dataset for the organization that sent events to it.
 */
export class Emulator {
  /** Base address of the service, with the base path and without a trailing slash. */
  readonly url: string
  /** Port that the emulator listens on. */
  readonly port: number
  #service: Service
  #server: Server
  #connections: Connections
  #faults: Faults
  #token: string
  #personalAccessToken: string
  #accessToken: string
  #closed: Promise<void> | undefined

  /** @internal */
  constructor(service: Service, server: Server, connections: Connections, address: { url: string; port: number }) {
    this.url = address.url
    this.port = address.port
    this.#service = service
    this.#server = server
    this.#connections = connections
    this.#faults = new Faults(service.plan)
    this.#token = service.tokens.add({ kind: 'api', actions: ['ingest'] })
    this.#personalAccessToken = service.tokens.add({ kind: 'personal' })
    this.#accessToken = service.tokens.add({ kind: 'access' })
  }

  /** Faults that a test can inject into ingest requests. */
  get faults(): Faults {
    return this.#faults
  }

  /** An API token that permits ingestion into every dataset. */
  get token(): string {
    return this.#token
  }

  /** A personal access token. A request with this token must carry `orgId` in the organization header. */
  get personalAccessToken(): string {
    return this.#personalAccessToken
  }

  /** An access token that permits reading and updating every organization. */
  get accessToken(): string {
    return this.#accessToken
  }

  /** Id of the default organization. */
  get orgId(): string {
    return this.#service.organizations.defaultId
  }

  /**
   * Accepts one more token and returns it.
   *
   * @throws TypeError | RangeError if the grant is invalid, or if its token is accepted already
   */
  addToken(grant: TokenGrant): string {
    const name = 'addToken: grant'
    return this.#service.tokens.add(checkGrant(name, grant), name)
  }

  /** Stops accepting a token. @returns true if the token was accepted before */
  revokeToken(token: string): boolean {
    return this.#service.tokens.revoke(token)
  }

  /**
   * Returns an organization as `GET /v2/orgs/{id}` answers it now.
   *
   * @throws RangeError if there is no organization with this id
   */
  org(orgId: string = this.orgId): Org {
    return structuredClone(this.#org('org', orgId))
  }

  /**
   * Changes fields of an organization or of its license, and updates `metaModified` and `metaVersion`.
   *
   * @returns the changed organization
   * @throws TypeError | RangeError if a field is unknown or its value is invalid
   * @throws RangeError if there is no organization with this id
   */
  changeOrg(overrides: OrgOverrides, orgId: string = this.orgId): Org {
    checkOverrides('changeOrg: overrides', overrides)
    const changes = structuredClone({ ...overrides, id: orgId })
    return structuredClone(this.#service.organizations.change(this.#org('changeOrg', orgId), changes, systemTimeMs()))
  }

  /**
   * Enforces these limits of the licenses from now on, and no others: `true` for all limits, `false` for none. The
   * fields of a dataset are recorded only while `maxFields` is enforced.
   *
   * @throws TypeError if a limit is unknown, or its value is not true or false
   */
  enforce(enforcement: Enforcement): void {
    this.#service.licenseLimits.enforced = enforcedLimits('enforce', enforcement)
  }

  /** Returns the names of the datasets to which events were sent, in the order of their first request. */
  datasets(): string[] {
    return this.#service.store.datasets()
  }

  /**
   * Returns the events of a dataset that are still in memory, in the order of their arrival. Each call parses the
   * events again.
   */
  events(dataset: string): EventObject[] {
    return this.#service.store.events(checkText('events: dataset', dataset))
  }

  /** Returns the JSON text of the same events, exactly as the client sent it. */
  lines(dataset: string): string[] {
    return this.#service.store.lines(checkText('lines: dataset', dataset))
  }

  /**
   * Returns the number of events that were stored in a dataset, including events forgotten since.
   *
   * A dataset keeps its count after all its events are forgotten. If such datasets together take more than an eighth of
   * `maxStoredBytes`, the emulator forgets the oldest of them, and their counts start again at 0.
   */
  eventCount(dataset: string): number {
    return this.#service.store.count(checkText('eventCount: dataset', dataset))
  }

  /** Returns the last 10,000 requests of any kind, or fewer if their headers are long, oldest first. */
  requests(): ReceivedRequest[] {
    return this.#service.log.list()
  }

  /** Returns the totals of requests, answers and events since the start, or since the last `clear()`. */
  stats(): EmulatorStats {
    return statsOf(this.#service)
  }

  /**
   * Waits until `eventCount(dataset)` is at least `count`. If `timeoutMs` passes or the emulator closes first, the
   * promise rejects with an `Error`. Its message gives the event and answer counts so far.
   *
   * @param count - integer from 0
   * @param options - `timeoutMs`: milliseconds, 0 to 2^31 − 1, by default 10,000
   * @throws TypeError | RangeError if `count` or an option is invalid
   */
  async waitForEvents(dataset: string, count: number, options: { timeoutMs?: number } = {}): Promise<void> {
    const { timeoutMs = 10_000 } = checkOptions('waitForEvents: options', options, ['timeoutMs'])
    checkText('waitForEvents: dataset', dataset)
    checkInteger('waitForEvents: count', count, 0, Number.MAX_SAFE_INTEGER)
    checkDelay('waitForEvents: timeoutMs', timeoutMs)
    const outcome = await this.#service.arrivals.wait(dataset, count, timeoutMs)
    if (outcome === 'arrived') return
    const reason = outcome === 'closed' ? 'the emulator was closed' : `waited ${milliseconds(timeoutMs)}`
    throw new Error(
      `${reason}, but dataset '${dataset}' has ${this.eventCount(dataset)} of ${count} events; ${arrivedSoFar(this.#service)}`,
    )
  }

  /**
   * Forgets events, requests and totals, and resets the usage that is counted for the limits of organizations. Keeps
   * tokens, organizations, faults and the choice of enforced limits.
   */
  clear(): void {
    this.#service.store.clear()
    this.#service.log.clear()
    this.#service.licenseLimits.clear()
  }

  /** Stops listening and ends every connection at once. Further calls have no effect and return the same promise. */
  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #end(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#connections.endAll()
    this.#service.arrivals.end()
    await closed
  }

  #org(call: string, orgId: string): Org {
    const org = this.#service.organizations.get(orgId)
    if (!org) throw new RangeError(`${call}: there is no organization '${orgId}'`)
    return org
  }
}
