import os from 'node:os'
import type { Machine } from './results.ts'

export function thisMachine(): Machine {
  return {
    cpu: os.cpus()[0]?.model.trim() ?? 'unknown processor',
    cores: os.availableParallelism(),
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    platform: `${os.platform()} ${os.arch()}`,
    node: process.versions.node,
  }
}
