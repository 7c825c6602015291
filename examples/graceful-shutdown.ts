/**
 * A server that is told to stop (SIGTERM, as an orchestrator does it): it finishes the requests under way, delivers its
 * logs within a deadline, and exits.
 *
 *     npx node examples/graceful-shutdown.ts
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { startEmulator } from 'logferry/emulator'
import { LogferryTransport } from 'logferry/winston'
import winston from 'winston'

// The service, in this process. With an account of your own: leave it out, and set LOGFERRY_URL and LOGFERRY_TOKEN.
const emulator = await startEmulator()

const transport = new LogferryTransport({ baseUrl: emulator.url, token: emulator.token, dataset: 'web' })
const logger = winston.createLogger({ transports: [transport] })

const server = createServer(async (_request, response) => {
  logger.info('request begun')
  await sleep(200)
  // A connection kept alive would hold up the end.
  if (!server.listening) response.setHeader('connection', 'close')
  response.end('served')
  logger.info('request served')
})

process.once('SIGTERM', async () => {
  logger.info('stopping')
  server.close()
  await once(server, 'close')
  logger.info('stopped')

  // Less than the orchestrator waits (Kubernetes 30 s, Docker 10 s). Events that cannot be delivered by then are dropped,
  // and a warning gives their number.
  await transport.shipper.close({ timeoutMs: 5000 })

  console.log(`${emulator.eventCount('web')} events arrived:`)
  for (const { _time, level, message } of emulator.events('web')) console.log(`  ${_time}  ${level}  ${message}`)
  process.exit()
})

server.listen(0, '127.0.0.1')
await once(server, 'listening')
logger.info('listening')

// A request, and in the middle of it the signal.
const { port } = server.address() as AddressInfo
const answer = fetch(`http://127.0.0.1:${port}`)
await once(server, 'request')
process.kill(process.pid, 'SIGTERM')
console.log(`The request under way was answered: ${await (await answer).text()}`)
