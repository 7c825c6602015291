import { once } from 'node:events'
import type { Server } from 'node:http'
import { ownProperties } from '../options/own-properties.ts'
import { milliseconds } from '../text/milliseconds.ts'
import { systemTimeMs } from '../time.ts'
import type { EventObject } from './body-events.ts'
import { checkDelay, checkInteger } from './checks.ts'
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
 * A running emulator. What arrived is kept by the name of its dataset alone. Only limits that are enforced tell
 * organizations apart: to them, each has its own datasets, which are those that it sent events to.
 */
export class Emulator {
  /** Base address of the service, base path included, without a slash at its end. */
  readonly url: string
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

  /** Faults to put in the way of ingest requests. */
  get faults(): Faults {
    return this.#faults
  }

  /** An API token that may ingest into every dataset. */
  get token(): string {
    return this.#token
  }

  /** A personal access token; requests with it must carry `orgId` in the organization header. */
  get personalAccessToken(): string {
    return this.#personalAccessToken
  }

  /** An access token that may read and update every organization. */
  get accessToken(): string {
    return this.#accessToken
  }

  /** Id of the default organization. */
  get orgId(): string {
    return this.#service.organizations.defaultId
  }

  /** Accepts one more token and returns it. A grant that makes no sense throws, one for a token that is accepted already too. */
  addToken(grant: TokenGrant): string {
    return this.#service.tokens.add(checkGrant('addToken: grant', grant))
  }

  /** Accepts a token no longer; returns whether it was accepted before. */
  revokeToken(token: string): boolean {
    return this.#service.tokens.revoke(token)
  }

  /** An organization as `GET /v2/orgs/{id}` answers it now; an unknown id throws. */
  org(orgId: string = this.orgId): Org {
    return structuredClone(this.#org(orgId))
  }

  /** Changes fields of an organization, of its license for example; `metaModified` and `metaVersion` follow. */
  changeOrg(overrides: OrgOverrides, orgId: string = this.orgId): Org {
    checkOverrides('changeOrg: overrides', overrides)
    const changes = structuredClone({ ...overrides, id: orgId })
    return structuredClone(this.#service.organizations.change(this.#org(orgId), changes, systemTimeMs()))
  }

  /**
   * Holds organizations to these limits of their licenses from now on, and to no others: `true` for all of them, `false`
   * for none. Which fields a dataset has is learnt only while `maxFields` is enforced.
   */
  enforce(enforcement: Enforcement): void {
    this.#service.licenseLimits.enforced = enforcedLimits('enforce', enforcement)
  }

  /** Names of the datasets events were sent to, in the order of their first request. */
  datasets(): string[] {
    return this.#service.store.datasets()
  }

  /** The events of a dataset that are still held, in the order of their arrival, parsed anew by each call. */
  events(dataset: string): EventObject[] {
    return this.#service.store.events(dataset)
  }

  /** The JSON text of the same events, exactly as it was sent. */
  lines(dataset: string): string[] {
    return this.#service.store.lines(dataset)
  }

  /**
   * How many events a dataset was sent and stored, those forgotten since included. A dataset of which nothing is held any
   * more is forgotten as a whole when the names of such datasets take more than an eighth of `maxStoredBytes`.
   */
  eventCount(dataset: string): number {
    return this.#service.store.count(dataset)
  }

  /** The last 10,000 requests of any kind, oldest first. */
  requests(): ReceivedRequest[] {
    return this.#service.log.list()
  }

  stats(): EmulatorStats {
    return statsOf(this.#service)
  }

  /**
   * Waits until `eventCount(dataset)` is at least `count`. `timeoutMs`: from 0, by default 10,000; when it is
   * over, or the emulator is closed, the promise is rejected with what has arrived so far.
   */
  async waitForEvents(dataset: string, count: number, options: { timeoutMs?: number } = {}): Promise<void> {
    const { timeoutMs = 10_000 } = ownProperties(options)
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
   * Forgets events, requests and totals, and what organizations have used of their limits. Tokens, organizations, faults
   * and which limits are enforced stay.
   */
  clear(): void {
    this.#service.store.clear()
    this.#service.log.clear()
    this.#service.licenseLimits.clear()
  }

  /** Stops listening and ends every connection at once. Calling it again does nothing more. */
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

  #org(orgId: string): Org {
    const org = this.#service.organizations.get(orgId)
    if (!org) throw new RangeError(`there is no organization '${orgId}'`)
    return org
  }
}
