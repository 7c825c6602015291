/**
 * A worker of a BullMQ queue. Every event of a job carries the job, its attempt, and the trace id of the request that has
 * placed the order. SIGTERM ends the worker after the jobs under way; another worker does the others.
 *
 *     npx logferry dev -- npm run queue:worker
 *     npx logferry dev -- npm run queue:add -- 10    # in another terminal; the first attempt at order 3 fails
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Job, Worker } from 'bullmq'
import { LogferryTransport } from 'logferry/winston'
import winston from 'winston'
import { connection, type OrderJob, queueName } from './orders.ts'

interface JobContext {
  trace_id: string
  job: { id: string | undefined; name: string; attempt: number }
}

const jobs = new AsyncLocalStorage<JobContext>()
const text = winston.format.printf(({ level, message }) => `${level}: ${message}`)
const logger = winston.createLogger({
  transports: [
    new winston.transports.Console({ format: text }),
    new LogferryTransport({ dataset: 'queue', context: () => jobs.getStore() }),
  ],
})

const worker = new Worker<OrderJob>(queueName, inContext, { connection, concurrency: 5 })
// BullMQ requires this listener. The connection to Redis is the usual trouble.
worker.on('error', error => logger.error('worker failed', { error }))
await worker.waitUntilReady()
logger.info('waiting for jobs')

function inContext(job: Job<OrderJob>): Promise<void> {
  const { id, name, attemptsMade, data } = job
  return jobs.run({ trace_id: data.trace_id, job: { id, name, attempt: attemptsMade + 1 } }, async () => {
    try {
      await placeOrder(data.order, attemptsMade)
    } catch (error) {
      logger.error('job failed', { error })
      throw error // BullMQ tries the job again
    }
  })
}

async function placeOrder(order: { id: number }, attemptsMade: number): Promise<void> {
  await sleep(50)
  if (order.id === 3 && attemptsMade === 0) throw new Error('the warehouse does not answer')
  logger.info('order placed', { order })
}

// Finishes the jobs under way. The process then ends by itself, as soon as the last events are delivered.
async function stop(signal: NodeJS.Signals): Promise<void> {
  logger.info('stopping', { signal })
  await worker.close()
  logger.end()
}
process.once('SIGTERM', stop).once('SIGINT', stop)
