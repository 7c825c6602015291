/**
 * Serverless functions: the platform may freeze the process as soon as the handler has answered. So the handler awaits the
 * delivery of its logs, within a deadline, or asks the platform to wait for it.
 *
 *     npx node examples/serverless.ts
 */
import { createShipper } from 'logferry'
import { startEmulator } from 'logferry/emulator'
import { LogferryTransport } from 'logferry/winston'
import winston from 'winston'

// The service, in this process. With an account of your own: leave it out, and set LOGFERRY_URL and LOGFERRY_TOKEN.
const emulator = await startEmulator()

// Outside the handler: the next invocation finds the shipper as it is, with its connections open.
const shipper = createShipper({ baseUrl: emulator.url, token: emulator.token, dataset: 'functions' })
const logger = winston.createLogger({ transports: [new LogferryTransport({ shipper })] })

/** In the style of AWS Lambda. */
async function handler({ orderId }: { orderId: number }): Promise<{ statusCode: number }> {
  logger.info('order received', { orderId })
  try {
    if (orderId === 13) throw new Error('out of stock')
    return { statusCode: 200 }
  } catch (error) {
    logger.error('order failed', { orderId, error })
    return { statusCode: 500 }
  } finally {
    // Events that are not delivered by then stay pending, and go with the next invocation.
    await shipper.flush({ timeoutMs: 1000 })
  }
}

/** For platforms that have `waitUntil`: the client gets its answer first. */
function fetchHandler(request: Request, platform: { waitUntil(work: Promise<unknown>): void }): Response {
  logger.info('request served', { path: new URL(request.url).pathname })
  platform.waitUntil(shipper.flush({ timeoutMs: 5000 }))
  return new Response('served')
}

for (const orderId of [42, 13]) {
  const { statusCode } = await handler({ orderId })
  console.log(`Order ${orderId} answered with ${statusCode}; events there: ${emulator.eventCount('functions')}`)
}

const background: Promise<unknown>[] = []
const answer = fetchHandler(new Request('https://shop.example/orders'), { waitUntil: work => background.push(work) })
console.log(`Request answered: ${await answer.text()}`)
await Promise.all(background)
console.log(`After waitUntil, events there: ${emulator.eventCount('functions')}`)

console.log('All events that arrived:')
for (const { level, message, orderId, path } of emulator.events('functions')) {
  console.log(' ', level, message, orderId ?? path)
}
await shipper.close()
await emulator.close()
