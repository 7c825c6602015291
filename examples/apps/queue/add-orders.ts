/**
 * Adds orders to the queue, as a web app would for each request.
 *
 *     npx logferry dev -- npm run queue:add -- 10
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { Queue } from 'bullmq'
import { LogferryTransport } from 'logferry/winston'
import winston from 'winston'
import { connection, type OrderJob, queueName } from './orders.ts'

const requests = new AsyncLocalStorage<{ trace_id: string }>()
const text = winston.format.printf(({ level, message }) => `${level}: ${message}`)
const logger = winston.createLogger({
  transports: [
    new winston.transports.Console({ format: text }),
    new LogferryTransport({ dataset: 'queue', context: () => requests.getStore() }),
  ],
})

const queue = new Queue<OrderJob>(queueName, { connection, defaultJobOptions: { attempts: 2 } })
for (let id = 1; id <= Number(process.argv[2] ?? 10); id++) {
  const trace_id = randomUUID()
  await requests.run({ trace_id }, async () => {
    const job = await queue.add('place', { trace_id, order: { id } })
    logger.info('order accepted', { order: { id }, job: { id: job.id } })
  })
}
await queue.close()
