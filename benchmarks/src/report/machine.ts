import os from 'node:os'
import type { Machine } from './results.ts'

export function thisMachine(): Machine {
  return {
    cpu: os.cpus()[0]?.model.trim() ?? 'unknown processor',
    cores: os.availableParallelism(),
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    platform: `${os.platform()} ${os.arch()}`,
    node: process.versions.node,
    load: Math.round((os.loadavg()[0] ?? 0) * 10) / 10,
  }
}

/** What to think of figures that were taken while the machine had other work; undefined when it had little. */
export function busyNote({ load, cores }: Machine): string | undefined {
  if (load < cores / 2) return undefined
  return `The machine was busy at the start (load ${load} on ${cores} cores). CPU times are right; times by the clock are not.`
}
