// Uses every entry point, with neither winston nor OpenTelemetry installed. The transport extends the class of
// winston-transport, which is a dependency.
import { createShipper, type FlushResult, type Shipper, type ShipperOptions, type ShipperStats } from 'logferry'
import { type Emulator, type EmulatorOptions, startEmulator } from 'logferry/emulator'
import type * as org from 'logferry/org'
import { LogferryLogRecordExporter, LogferryLogRecordProcessor } from 'logferry/otel'
import { LogferryTransport, type LogferryTransportOptions } from 'logferry/winston'

const emulatorOptions: EmulatorOptions = { port: 0 }
const emulator: Emulator = await startEmulator(emulatorOptions)

const options: ShipperOptions = { baseUrl: emulator.url, token: emulator.token, dataset: 'types' }
const shipper: Shipper = createShipper(options)
shipper.ship({ level: 'info', message: 'hello', order: { id: 42 } })
const { complete, pending }: FlushResult = await shipper.flush({ timeoutMs: 1000 })
const stats: ShipperStats = shipper.stats()

const transportOptions: LogferryTransportOptions = { ...options, level: 'info' }
export const names: string[] = [new LogferryTransport(transportOptions).name]
export const fromOtel = [new LogferryLogRecordExporter({ shipper }), new LogferryLogRecordProcessor({ shipper })]
export const counted: [boolean, number, number] = [complete, pending, stats.accepted]
export type EveryNameOfOrg = keyof typeof org

await shipper.close()
await emulator.close()
