import winston from 'winston'
import LokiTransport from 'winston-loki'
import type { Source, Target } from './set-up.ts'
import { winstonSource } from './winston-logger.ts'

export function open({ url, workload, load }: Target): Source {
  const transports = Array.from({ length: load.loggers }, () => new LokiTransport({ host: url, interval: 1 }))
  const { log, endLoggers } = winstonSource(workload, winston.format.json(), transports)
  const flush = () => Promise.all(transports.map(transport => transport.flush()))
  return { log, flush, end: () => endLoggers().then(flush) }
}
