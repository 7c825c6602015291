import type { Readable } from 'node:stream'

/**
 * Yields the chunks of a stream until it ends or `signal` is aborted, and then destroys the stream. While the consumer
 * is busy, the stream reads at most one buffer ahead, so that a slow consumer stops the program that writes.
 *
 * @throws any error of the stream
 */
export async function* chunksOf(stream: Readable, signal: AbortSignal): AsyncGenerator<Buffer> {
  let wake = (): void => {}
  let isOver = false
  let error: Error | undefined
  const onChange = (): void => wake()
  const onOver = (given?: Error): void => {
    isOver = true
    error ??= given
    wake()
  }
  stream.on('readable', onChange).on('end', onOver).on('close', onOver).on('error', onOver)
  signal.addEventListener('abort', onChange)
  try {
    while (!signal.aborted) {
      const chunk = stream.read() as Buffer | null
      if (chunk !== null) {
        yield chunk
        continue
      }
      if (error !== undefined) throw error
      if (isOver) return
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
  } finally {
    signal.removeEventListener('abort', onChange)
    stream.off('readable', onChange)
    stream.destroy() // listeners for errors stay: a late error must not end the process
  }
}
