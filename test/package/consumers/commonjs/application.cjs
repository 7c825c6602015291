// Bundled as CommonJS. Ships one event, and prints the events that arrived.
const { createShipper } = require('logferry')
const { startEmulator } = require('logferry/emulator')
const { LogferryTransport } = require('logferry/winston')
const { createLogger } = require('winston')

async function main() {
  const emulator = await startEmulator()
  const shipper = createShipper({ baseUrl: emulator.url, token: emulator.token, dataset: 'bundled' })
  createLogger({ transports: [new LogferryTransport({ shipper })] }).info('from Winston')
  shipper.ship({ message: 'from the core' })
  await shipper.close()
  process.stdout.write(
    emulator
      .events('bundled')
      .map(event => event.message)
      .join(', '),
  )
  await emulator.close()
}

main()
