import type winston from 'winston'
import TransportStream from 'winston-transport'
import type { Source, Target } from './set-up.ts'
import { winstonSource } from './winston-logger.ts'

class NoOpTransport extends TransportStream {
  override log(_info: unknown, callback: () => void): void {
    callback()
  }
}

export function open({ workload, load }: Target, format: winston.Logform.Format): Source {
  const transports = Array.from({ length: load.loggers }, () => new NoOpTransport())
  const { log, endLoggers } = winstonSource(workload, format, transports)
  return { log, end: endLoggers }
}
