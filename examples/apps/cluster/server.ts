/**
 * A cluster: one process for each CPU, and a primary that replaces processes that die. Each process ships its own events,
 * and all share the directory of one spool. With `durability: 'disk'` even a killed worker loses no event: another
 * process of the cluster delivers what the worker has left on disk.
 *
 *     npx logferry dev -- npm run cluster
 *     curl http://127.0.0.1:3000/orders/42
 *     curl http://127.0.0.1:3000/crash    # kill -9 in the middle of a request
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import cluster from 'node:cluster'
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { availableParallelism, homedir } from 'node:os'
import { join } from 'node:path'
import { LogferryTransport } from 'logferry/winston'
import winston from 'winston'

const requests = new AsyncLocalStorage<{ trace_id: string }>()
const role = cluster.isPrimary ? 'primary' : 'worker'

const text = winston.format.printf(({ level, message }) => `${level}: ${message}`)
const logger = winston.createLogger({
  transports: [
    new winston.transports.Console({ format: text }),
    new LogferryTransport({
      dataset: 'cluster',
      context: () => ({ process: { pid: process.pid, role }, ...requests.getStore() }),
      spool: { directory: process.env.SPOOL_DIRECTORY ?? join(homedir(), '.cache/logferry-example-cluster') },
      durability: 'disk',
    }),
  ],
})

if (cluster.isPrimary) runPrimary()
else runWorker()

function runPrimary(): void {
  let isStopping = false
  for (let count = 0; count < availableParallelism(); count++) cluster.fork()

  cluster.on('exit', (worker, code, signal) => {
    if (isStopping) return
    logger.error('worker died', { worker: { pid: worker.process.pid, code, signal } })
    cluster.fork()
  })

  const stop = (signal: NodeJS.Signals) => {
    isStopping = true
    logger.info('stopping', { signal })
    // Each worker finishes its requests. The primary ends by itself when its last worker has ended.
    cluster.disconnect()
  }
  process.once('SIGTERM', stop).once('SIGINT', stop)
}

function runWorker(): void {
  const server = createServer((request, response) => {
    requests.run({ trace_id: randomUUID() }, () => {
      logger.info(`${request.method} ${request.url}`)
      if (request.url === '/crash') process.kill(process.pid, 'SIGKILL')
      // A connection kept alive would hold up the end of the server.
      response.once('close', () => {
        if (!server.listening) server.closeIdleConnections()
      })
      setTimeout(() => response.end('served\n'), 100)
    })
  })
  server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
    logger.info(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  })

  // Terminals and systemd send their signal to the workers, too. The primary decides, and disconnects each worker.
  process.on('SIGTERM', () => {}).on('SIGINT', () => {})
}
