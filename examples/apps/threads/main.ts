/**
 * A pool of worker threads. Each thread ships its own events, with its own queue, beside those of the main thread.
 *
 * A thread delivers its events when it ends by itself, by `process.exit()` in the thread, or by an uncaught error. So
 * the main thread asks its threads to end. `worker.terminate()`, or `process.exit()` in the main thread, would end them at
 * once, and lose what they have not delivered.
 *
 *     npx logferry dev -- npm run threads
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { LogferryTransport } from 'logferry/winston'
import winston from 'winston'
import type { Task } from './worker.ts'

const text = winston.format.printf(({ level, message }) => `${level}: ${message}`)
const logger = winston.createLogger({
  transports: [
    new winston.transports.Console({ format: text }),
    new LogferryTransport({ dataset: 'threads', context: () => ({ thread: 'main' }) }),
  ],
})

const tasks: Task[] = []
for (let id = 1; id <= 20; id++) tasks.push({ id, text: `order ${id}` })

logger.info('begun', { tasks: tasks.length })
await Promise.all([runThread('a'), runThread('b')])
logger.info('all tasks done')

/** Runs tasks in a thread until none are left, then asks the thread to end, and waits for its end. */
async function runThread(name: string): Promise<void> {
  const worker = new Worker(new URL('worker.ts', import.meta.url), { workerData: { name } })
  for (let task = tasks.shift(); task !== undefined; task = tasks.shift()) {
    worker.postMessage(task)
    await once(worker, 'message')
  }
  worker.postMessage('end')
  await once(worker, 'exit')
}
