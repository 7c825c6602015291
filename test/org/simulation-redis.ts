import type { IoredisClient } from '../../src/org/fleet-redis.ts'
import type { VirtualClock } from './simulation.ts'

/**
 * A Redis on the virtual clock that knows what the fleet asks of it, and nothing else. That the script does the same on a
 * real one is checked in fleet-redis.test.ts.
 */
export class SimulatedRedis implements IoredisClient {
  calls = 0
  /** What becomes of calls. */
  state: 'there' | 'refusing' | 'hanging' = 'there'
  /** What is answered in place of the truth, made of it. */
  lie: ((truth: unknown) => unknown) | undefined
  readonly #sets = new Map<number, Set<string>>()
  #ranked = { term: 0, ranks: new Map<string, number>() }
  readonly #clock: VirtualClock
  readonly #random: () => number

  constructor(clock: VirtualClock, random: () => number) {
    this.#clock = clock
    this.#random = random
  }

  call(): Promise<unknown> {
    throw new Error('not simulated')
  }

  async eval(_script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown> {
    this.calls++
    const [id = '', termMs, action] = keysAndArguments.slice(keyCount)
    await this.#pass()
    if (this.state === 'refusing') throw new Error('connection refused')
    if (this.state === 'hanging') return new Promise(() => {})
    const answer = this.#run(id, Number(termMs), action)
    await this.#pass()
    return this.lie === undefined ? answer : this.lie(answer)
  }

  /** As after a restart without a dump. */
  forget(): void {
    this.#sets.clear()
    this.#ranked.term = 0
  }

  #run(id: string, termMs: number, action: string | undefined): unknown {
    const nowMs = Math.floor(1.7e12 + this.#clock.nowMs)
    const term = Math.floor(nowMs / termMs)
    const current = this.#sets.get(term) ?? new Set()
    if (action === 'leave') return current.delete(id)
    this.#sets.set(term, current.add(id))
    this.#sets.delete(term - 2)
    if (this.#ranked.term !== term - 1) {
      const ranks = [...(this.#sets.get(term - 1) ?? [])].sort().map((member, rank) => [member, rank] as const)
      this.#ranked = { term: term - 1, ranks: new Map(ranks) }
    }
    const { ranks } = this.#ranked
    return [nowMs, ranks.size, ranks.get(id) ?? -1, current.size]
  }

  /** The way there or back. */
  #pass(): Promise<void> {
    return new Promise(resolve => void this.#clock.after(0.2 + 2 * this.#random(), resolve))
  }
}
