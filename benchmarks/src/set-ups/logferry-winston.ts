import type winston from 'winston'
import { LogferryTransport } from '../../../dist/winston.js'
import { ending, type Options, openShipper } from './logferry-shipper.ts'
import type { Source, Target } from './set-up.ts'
import { winstonSource } from './winston-logger.ts'

export function open(target: Target, options: Options, format: winston.Logform.Format): Source {
  const shipper = openShipper(target, options)
  const transports = Array.from({ length: target.load.loggers }, () => new LogferryTransport({ shipper }))
  const { log, endLoggers } = winstonSource(target.workload, format, transports)
  const { flush, end } = ending(shipper)
  return { log, flush, end: () => endLoggers().then(end) }
}
