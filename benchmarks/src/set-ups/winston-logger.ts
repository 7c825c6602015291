import winston from 'winston'
import type TransportStream from 'winston-transport'
import type { Workload } from '../workload/event.ts'
import type { Source } from './set-up.ts'

/** No format: what an application does where no transport needs one. */
export const noFormat = { transform: (info: winston.Logform.TransformableInfo) => info }

/** Logs through loggers that take turns, one transport each. */
export function winstonSource(
  workload: Workload,
  format: winston.Logform.Format,
  transports: readonly TransportStream[],
): Pick<Source, 'log'> & { endLoggers(): Promise<unknown> } {
  const loggers = transports.map(transport => winston.createLogger({ format, transports: [transport] }))
  const { message, meta } = workload
  const only = loggers[0] as winston.Logger
  const log =
    loggers.length === 1
      ? (n: number) => void only.info(message, meta(n))
      : (n: number) => void (loggers[n % loggers.length] as winston.Logger).info(message, meta(n))
  return {
    log,
    async endLoggers() {
      const finished = loggers.map(logger => new Promise(resolve => logger.on('error', ignore).on('finish', resolve)))
      for (const logger of loggers) logger.end()
      await Promise.all(finished)
    },
  }
}

/** 'write after end', from a transport that calls back late: what Winston still has for it is lost, and is counted so. */
function ignore(): void {}
