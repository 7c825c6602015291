import { LogferryTransport } from 'logferry/winston'
import winston from 'winston'

export const transport = new LogferryTransport()
export const logger = winston.createLogger({ transports: [transport] })
