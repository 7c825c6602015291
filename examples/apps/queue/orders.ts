/** The queue that the producer and the worker share. */
export const queueName = 'orders'

/** Redis, for example in a container: docker run --rm -p 6379:6379 redis */
export const connection = { url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' }

export interface OrderJob {
  /** Trace of the request that placed the order. The events of the job carry it, too. */
  trace_id: string
  order: { id: number }
}
