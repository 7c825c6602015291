import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Arrival } from './fleet-arrivals.ts'
import { raisePriority } from './raise-priority.ts'

/** Limits in requests per second. Each can be changed separately. */
export interface ServiceSettings {
  /** The limit in the organization's license. */
  readonly licensePerSecond: number
  /** The limit in force, which includes reads of the organization. */
  readonly enforcedPerSecond: number
  /** The limit in the headers of answers; `undefined` for no such headers. */
  readonly headerPerSecond: number | undefined
  readonly isRefusingAll: boolean
}

export type ServiceOrder =
  | { readonly kind: 'change'; readonly settings: Partial<ServiceSettings> }
  | { readonly kind: 'report' }

export interface ServiceReport {
  readonly arrivals: readonly Arrival[]
  /** For each process: number of events that have arrived, and number of arrivals beyond the first of each. */
  readonly numbers: Readonly<Record<string, { readonly distinct: number; readonly twice: number }>>
  /** Delay of its event loop, 99th percentile, in milliseconds. */
  readonly lateMs: number
}

export type ServiceReply =
  | { readonly kind: 'listening'; readonly url: string }
  | { readonly kind: 'changed' }
  | ({ readonly kind: 'report' } & ServiceReport)

export const orgId = 'fleet-org'

/** The service in a process of its own, so that no work of the harness can delay it. */
export class FleetService implements Disposable {
  readonly url: string
  readonly #process: ChildProcess

  static async start(settings: ServiceSettings): Promise<FleetService> {
    const child = fork(new URL('./fleet-service-process.ts', import.meta.url), {
      env: { PATH: process.env.PATH, FLEET_SERVICE: JSON.stringify(settings) },
      execArgv: [],
      serialization: 'advanced',
    })
    raisePriority(child)
    const [reply] = (await once(child, 'message')) as [ServiceReply]
    if (reply.kind !== 'listening') throw new Error('the service did not start')
    return new FleetService(child, reply.url)
  }

  private constructor(child: ChildProcess, url: string) {
    this.#process = child
    this.url = url
  }

  /** Resolves when the change is in force. */
  async change(settings: Partial<ServiceSettings>): Promise<void> {
    await this.#ask({ kind: 'change', settings })
  }

  async report(): Promise<ServiceReport> {
    const reply = await this.#ask({ kind: 'report' })
    if (reply.kind !== 'report') throw new Error('the service gave no report')
    return reply
  }

  async #ask(order: ServiceOrder): Promise<ServiceReply> {
    const replied = once(this.#process, 'message')
    this.#process.send(order)
    const [reply] = (await replied) as [ServiceReply]
    return reply
  }

  [Symbol.dispose](): void {
    this.#process.kill('SIGKILL')
  }
}
