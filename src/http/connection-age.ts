import type { Agent } from 'node:http'
import type { Duplex } from 'node:stream'
import { monotonicMs } from '../time.ts'

/**
 * Makes an agent close each connection with the first answer after `maxAgeMs`. Otherwise a connection that is always
 * busy would stay with its server forever. It would stay even if the name of the service stands for another address by
 * now, or if servers were added.
 */
export function limitAge(agent: Agent, maxAgeMs: number): void {
  const keptSinceMs = new WeakMap<Duplex, number>()
  const { keepSocketAlive } = agent
  const keepIfYoung = (socket: Duplex): boolean => {
    const nowMs = monotonicMs()
    const sinceMs = keptSinceMs.get(socket) ?? nowMs
    keptSinceMs.set(socket, sinceMs)
    return nowMs - sinceMs < maxAgeMs && (keepSocketAlive.call(agent, socket) as unknown) === true
  }
  Object.assign(agent, { keepSocketAlive: keepIfYoung })
}
