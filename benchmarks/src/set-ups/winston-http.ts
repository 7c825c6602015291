import winston from 'winston'
import type { Source, Target } from './set-up.ts'
import { winstonSource } from './winston-logger.ts'

export function open({ port, workload, load }: Target): Source {
  const address = { host: '127.0.0.1', port, path: '/v1/datasets/benchmark/ingest' }
  const batches = { batch: true, batchCount: 1000, batchInterval: 1000 }
  const transports = Array.from({ length: load.loggers }, () => new winston.transports.Http({ ...address, ...batches }))
  const { log, endLoggers } = winstonSource(workload, winston.format.json(), transports)
  return { log, end: endLoggers }
}
