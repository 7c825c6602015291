import { AsyncLocalStorage } from 'node:async_hooks'
import { LogferryTransport } from 'logferry/winston'
import winston from 'winston'

/** The request that the running code belongs to. Every event gets these fields. */
export const requests = new AsyncLocalStorage<{ trace_id: string }>()

export const transport = new LogferryTransport({
  dataset: 'nest',
  context: () => requests.getStore(),
  hold: { below: 'info', trigger: 'error' },
})

const text = winston.format.printf(({ level, message }) => `${level}: ${message}`)

export const logger = winston.createLogger({
  // The levels of Nest. Without `fatal`, Winston would ignore the events of that level.
  levels: { fatal: 0, error: 1, warn: 2, info: 3, debug: 4, verbose: 5 },
  level: 'debug',
  transports: [new winston.transports.Console({ level: 'info', format: text }), transport],
})
