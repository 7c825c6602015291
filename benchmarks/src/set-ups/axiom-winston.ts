import { WinstonTransport } from '@axiomhq/winston'
import type winston from 'winston'
import type { Source, Target } from './set-up.ts'
import { winstonSource } from './winston-logger.ts'

export function open({ url, workload, load }: Target, format: winston.Logform.Format): Source {
  const transports = Array.from(
    { length: load.loggers },
    () => new WinstonTransport({ dataset: 'benchmark', token: 'benchmark', url }),
  )
  const { log, endLoggers } = winstonSource(workload, format, transports)
  const flush = () => Promise.all(transports.map(transport => new Promise(resolve => transport.flush(resolve))))
  return { log, flush, end: () => endLoggers().then(flush) }
}
