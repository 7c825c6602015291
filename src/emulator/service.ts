import { type Answer, type Ending, refusal } from './answer.ts'
import { Arrivals } from './arrivals.ts'
import { BodyMemory } from './body.ts'
import { type Exchange, passThrough, type Stage } from './exchange.ts'
import type { Extension } from './extension.ts'
import { noFaults, paced } from './fault-plan.ts'
import { Hosts } from './hosts.ts'
import type { Ingest, IngestProtocol } from './ingest.ts'
import { LicenseLimits } from './license-limits.ts'
import type { Settings } from './options.ts'
import { Organizations } from './organizations.ts'
import { RequestLog } from './request-log.ts'
import { routeOf } from './route.ts'
import { type IngestDeps, ingestProtocol, ingestStages, startIngest } from './routes/ingest.ts'
import { readOrganization, updateOrganization } from './routes/organizations.ts'
import { pageAnswer } from './routes/page.ts'
import { Store } from './store.ts'
import { Tokens, type Wish } from './tokens.ts'

/** Number of bodies of the maximum size that fit into memory at a time. */
const maxBodies = 4
/** Bytes that all bodies may have at a time, however small one may be: many small requests are no danger. */
const minBodyMemory = 268_435_456

/** The state of the service, and the logic that ends each request. The sockets belong to `start.ts`. */
export class Service {
  readonly organizations: Organizations
  readonly tokens: Tokens
  readonly licenseLimits: LicenseLimits
  readonly store: Store
  readonly arrivals: Arrivals
  readonly log = new RequestLog()
  readonly plan = noFaults()
  #settings: Settings
  #bodyMemory: BodyMemory
  #hosts: Hosts
  #ingestStages: Stage<Ingest>[]
  #ingestProtocol: IngestProtocol
  #extension: Extension | undefined

  constructor(settings: Settings, nowMs: number, extension?: Extension) {
    this.#settings = settings
    this.#bodyMemory = new BodyMemory(Math.max(minBodyMemory, maxBodies * settings.maxDecodedBytes))
    this.#extension = extension
    this.#hosts = new Hosts(settings)
    this.organizations = new Organizations(settings.orgs, nowMs)
    this.tokens = new Tokens(this.organizations, settings.orgIdHeader)
    for (const [index, grant] of settings.tokens.entries()) this.tokens.add(grant, `startEmulator: tokens[${index}]`)
    this.licenseLimits = new LicenseLimits(this.organizations, settings.enforced)
    this.store = new Store(settings.maxStoredBytes)
    this.arrivals = new Arrivals(this.store)
    const { tokens, licenseLimits, plan, store, arrivals } = this
    const deps: IngestDeps = {
      tokens,
      licenseLimits,
      plan,
      store,
      arrivals,
      bodyLimits: { ...settings, memory: this.#bodyMemory },
      eventBounds: settings,
      extension,
    }
    this.#ingestStages = ingestStages(deps)
    this.#ingestProtocol = ingestProtocol(deps)
  }

  async end(exchange: Exchange): Promise<Ending> {
    try {
      const ending = await this.#end(exchange)
      return this.#extension === undefined ? ending : await this.#extension.finish(exchange, ending)
    } catch (error) {
      // The most likely cause is a function of the test, such as a predicate.
      return refusal(500, 'emulator-failed', error instanceof Error ? error.message : String(error))
    } finally {
      this.#bodyMemory.free(exchange.entry.decodedBytes)
    }
  }

  async #end(exchange: Exchange): Promise<Ending> {
    const { request, entry } = exchange
    const refused = this.#extension === undefined ? this.#hosts.admit(request) : this.#extension.admit(request)
    if (refused) return refused
    const other = this.#extension?.ingestOf(exchange)
    if (other) return this.#ingest(exchange, other.dataset, other.protocol)
    const answered = await this.#extension?.answer(exchange)
    if (answered) return answered
    const route = routeOf(entry.method, entry.path, this.#settings.basePath)
    switch (route.kind) {
      case 'answer':
        return route
      case 'page':
        return pageAnswer(this.store, this.tokens, request.headers.accept)
      case 'ingest':
        return this.#ingest(exchange, route.dataset, this.#ingestProtocol)
      case 'read-organization':
        return (
          this.#admit(exchange, { action: 'org:read', orgId: route.orgId }) ??
          readOrganization(this.organizations, route.orgId)
        )
      case 'update-organization':
        return (
          this.#admit(exchange, { action: 'org:write', orgId: route.orgId }) ??
          updateOrganization(exchange, this.organizations, route.orgId, { ...this.#settings, memory: this.#bodyMemory })
        )
    }
  }

  #admit(exchange: Exchange, wish: Wish): Answer | undefined {
    return this.tokens.admit(exchange, wish) ?? this.licenseLimits.admitRequest(exchange)
  }

  async #ingest(exchange: Exchange, dataset: string, protocol: IngestProtocol): Promise<Ending> {
    exchange.entry.dataset = dataset
    const ingest = startIngest(exchange, { dataset, protocol, memory: this.#bodyMemory })
    try {
      return paced(await passThrough(this.#ingestStages, ingest), exchange.entry, this.plan)
    } finally {
      this.#bodyMemory.free(ingest.eventBytes)
    }
  }
}
