import { createHash } from 'node:crypto'
import { parentPort, threadId, workerData } from 'node:worker_threads'
import { LogferryTransport } from 'logferry/winston'
import winston from 'winston'

export interface Task {
  id: number
  text: string
}

const { name } = workerData as { name: string }
const logger = winston.createLogger({
  transports: [new LogferryTransport({ dataset: 'threads', context: () => ({ thread: name, thread_id: threadId }) })],
})

parentPort?.on('message', (message: Task | 'end') => {
  // Without a port to listen on, the thread ends by itself, as soon as its events are delivered.
  if (message === 'end') parentPort?.close()
  else run(message)
})

function run(task: Task): void {
  const digest = createHash('sha256').update(task.text).digest('hex')
  logger.info('task done', { task: { id: task.id, digest } })
  parentPort?.postMessage(digest)
}
