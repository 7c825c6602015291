import { fstatSync } from 'node:fs'
import type { Readable } from 'node:stream'

/** Returns the error of reading a directory. In place of a directory, Node has a stream without data. */
function directoryError(stream: Readable & { readonly fd?: number }): NodeJS.ErrnoException | undefined {
  if (stream.fd === undefined || !isDirectory(stream.fd)) return undefined
  return Object.assign(new Error('the input is a directory'), { code: 'EISDIR' })
}

function isDirectory(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isDirectory()
  } catch {
    return false // a descriptor that is closed
  }
}

/** A stream that is read until it ends, or until the command is told to stop. */
export class Input {
  readonly #stream: Readable
  readonly #signal: AbortSignal
  #error: NodeJS.ErrnoException | undefined

  /** @param signal aborted when no more is to be read */
  constructor(stream: Readable, signal: AbortSignal) {
    this.#stream = stream
    this.#signal = signal
    this.#error = directoryError(stream)
  }

  /** The error that ended the stream. */
  get error(): NodeJS.ErrnoException | undefined {
    return this.#error
  }

  /**
   * Yields the chunks, and then destroys the stream. While the consumer is busy, the stream reads at most one buffer
   * ahead, so that a slow consumer stops the program that writes.
   */
  async *chunks(): AsyncGenerator<Buffer> {
    const [stream, signal] = [this.#stream, this.#signal]
    let isOver = false
    let wake = (): void => {}
    const onChange = (): void => wake()
    const onOver = (error?: Error): void => {
      isOver = true
      this.#error ??= error
      wake()
    }
    stream.on('readable', onChange).on('error', onOver)
    stream.on('end', () => onOver()).on('close', () => onOver())
    signal.addEventListener('abort', onChange)
    try {
      while (!signal.aborted) {
        const chunk = stream.read() as Buffer | null
        if (chunk !== null) {
          yield chunk
        } else if (isOver) {
          return
        } else {
          await new Promise<void>(resolve => {
            wake = resolve
          })
        }
      }
    } finally {
      signal.removeEventListener('abort', onChange)
      stream.off('readable', onChange)
      stream.destroy() // the listeners for errors stay, so that a late error does not end the process
    }
  }
}
