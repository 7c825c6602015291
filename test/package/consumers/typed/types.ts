// Uses every entry point in a way that any version of TypeScript and any kind of module allows: no `await` outside of
// functions.
import { createShipper, type FlushResult, type Shipper, type ShipperOptions, type ShipperStats } from 'logferry'
import { type Emulator, type EmulatorOptions, startEmulator } from 'logferry/emulator'
import { createOrgClient, type License, type OrgClient, OrgError } from 'logferry/org'
import { LogferryLogRecordExporter, LogferryLogRecordProcessor } from 'logferry/otel'
import { LogferryTransport, type LogferryTransportOptions } from 'logferry/winston'

/** An event of the application, which has no index signature. */
interface OrderPlaced {
  readonly level: string
  readonly message: string
}

export async function ship(placed: OrderPlaced): Promise<boolean> {
  const emulatorOptions: EmulatorOptions = { port: 0 }
  const emulator: Emulator = await startEmulator(emulatorOptions)
  const options: ShipperOptions = {
    baseUrl: emulator.url,
    token: emulator.token,
    dataset: 'types',
    transform: (): OrderPlaced => placed,
  }
  const shipper: Shipper = createShipper(options)
  shipper.on('rejected', ({ reason }) => reason.trim())
  shipper.ship(placed)
  // @ts-expect-error: a text is no event
  shipper.ship('order placed')
  // @ts-expect-error: nor is a list
  shipper.ship([placed])
  await shipper.shipAndConfirm(placed)
  const { complete, pending }: FlushResult = await shipper.flush({ timeoutMs: 1000 })
  const stats: ShipperStats = shipper.stats()
  // A shipper has one type, whatever entry point it passes through.
  const ways = [new LogferryLogRecordExporter({ shipper }), new LogferryLogRecordProcessor({ shipper })]
  return complete && pending + stats.accepted === ways.length
}

export function logger(transportOptions: LogferryTransportOptions): string {
  const transport = new LogferryTransport(transportOptions)
  transport.once('finish', () => undefined).end() // it is a stream of Node
  // @ts-expect-error: nothing is of type any
  transport.shipper.launch()
  return transport.name
}

export async function rate(accessToken: string): Promise<License['apiRateLimitPerSecond'] | string> {
  const client: OrgClient = createOrgClient({ accessToken })
  try {
    return (await client.get('my-org')).license.apiRateLimitPerSecond
  } catch (error) {
    return error instanceof OrgError ? error.code : 'no answer'
  }
}
