// A library that wraps the package and publishes declarations. The compiler infers the types, and writes their names.
import { createShipper, type ShipperOptions } from 'logferry'
import { type EmulatorOptions, startEmulator } from 'logferry/emulator'
import type { OrgClientOptions } from 'logferry/org'
import {
  LogferryLogRecordExporter,
  type LogferryLogRecordExporterOptions,
  type LogferryLogRecordProcessor,
  type LogferryLogRecordProcessorOptions,
} from 'logferry/otel'
import { LogferryTransport, type LogferryTransportOptions } from 'logferry/winston'

export const ofShipper = (options: ShipperOptions) => ({ compression: 'gzip' as const, ...options })
export const ofTransport = (options: LogferryTransportOptions) => ({ level: 'info', ...options })
export const ofExporter = (options: LogferryLogRecordExporterOptions) => ({ ...options })
export const ofProcessor = (options: LogferryLogRecordProcessorOptions) => ({ ...options })
export const ofClient = (options: OrgClientOptions) => ({ ...options })
export const ofEmulator = (options: EmulatorOptions) => ({ ...options, ...options.org })

export const groups = ({ limits, redact, sample, hold, fields, spool, tls }: ShipperOptions) => {
  return { ...limits, redis: limits?.fleet?.redis, redact, sample, hold: { ...hold }, fields, spool, tls: { ...tls } }
}

const exporter = new LogferryLogRecordExporter()
export const transport = new LogferryTransport()
export const send = exporter.export.bind(exporter)
export const take = (...record: Parameters<LogferryLogRecordProcessor['onEmit']>) => ({ ...record[0] })
export const count = () => ({ ...createShipper().stats(), usage: createShipper().usage() })
export const emulated = async () => ({ ...(await startEmulator()) })
