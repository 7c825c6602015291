import { once } from 'node:events'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
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
      // A transport that calls back late leaves events in the logger's buffers, where end() would lose them with 'write
      // after end'. Measuring speed, we give them the time.
      while ([...loggers, ...transports].some(hasBuffered)) await turnOfTheLoop()
      const finished = loggers.map(logger => once(logger, 'finish'))
      for (const logger of loggers) logger.end()
      await Promise.all(finished)
    },
  }
}

function hasBuffered(stream: { writableLength: number; readableLength?: number }): boolean {
  return stream.writableLength > 0 || (stream.readableLength ?? 0) > 0
}
