import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Arrival } from './fleet-arrivals.ts'
import { raisePriority } from './raise-priority.ts'

/** Limits in requests per second; each can be changed by itself. */
export interface ServiceSettings {
  /** What the organization's license says. */
  readonly licensePerSecond: number
  /** What the service in fact takes, reads of the organization included. */
  readonly enforcedPerSecond: number
  /** What the headers of answers say; `undefined` for no such headers. */
  readonly headerPerSecond: number | undefined
  readonly isRefusingAll: boolean
}

export type ServiceOrder =
  | { readonly kind: 'change'; readonly settings: Partial<ServiceSettings> }
  | { readonly kind: 'report' }

export interface ServiceReport {
  readonly arrivals: readonly Arrival[]
  /** Of each process: numbers that have arrived, and arrivals beyond the first of each. */
  readonly numbers: Readonly<Record<string, { readonly distinct: number; readonly twice: number }>>
  /** How late its event loop was, 99 %, in milliseconds. */
  readonly lateMs: number
}

export type ServiceReply =
  | { readonly kind: 'listening'; readonly url: string }
  | { readonly kind: 'changed' }
  | ({ readonly kind: 'report' } & ServiceReport)

export const orgId = 'fleet-org'

/** The service in a process of its own, which nothing that the harness does can delay. */
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

  /** Resolves once the change is in force. */
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
