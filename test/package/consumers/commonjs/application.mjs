// Bundled as an ES module, or as CommonJS: ships two events, one of them at the end of the process.
import { createShipper } from 'logferry'
import { startEmulator } from 'logferry/emulator'
import { LogferryLogRecordExporter } from 'logferry/otel'

const emulator = await startEmulator()
const shipper = createShipper({ baseUrl: emulator.url, token: emulator.token, dataset: 'bundled' })
shipper.ship({ message: 'from the core' })
await new LogferryLogRecordExporter({ shipper }).shutdown()
await shipper.close()
process.stdout.write(
  emulator
    .events('bundled')
    .map(event => event.message)
    .join(', '),
)
await emulator.close()
