import { promisify } from 'node:util'
import { pino } from 'pino'
import type { Source, Target } from './set-up.ts'

export function open({ url, workload }: Target): Source {
  const transport = pino.transport({
    target: '@axiomhq/pino',
    options: { dataset: 'benchmark', token: 'benchmark', url },
  })
  const logger = pino({ level: 'info' }, transport)
  const { message, meta } = workload
  // Its end() holds the main thread until the worker has ended, and then fails after ten seconds: the worker's last batch
  // leaves by itself after a second.
  const flush = () => promisify(logger.flush.bind(logger))()
  return { log: n => logger.info(meta(n), message), flush, end: flush }
}
