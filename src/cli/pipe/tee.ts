import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { beforeAbort, settlesWithin } from '../../time-limits.ts'
import { lastBytesMs } from '../stop-signals.ts'

/**
 * Passes the input on unchanged. If the reader goes away, the input is read on without it. This is the one output of a
 * command that is not made harmless for a terminal: it is what the other program has written.
 */
export class Tee {
  readonly #stream: Writable
  #error: NodeJS.ErrnoException | undefined

  constructor(stream: Writable) {
    this.#stream = stream
    stream.on('error', error => {
      this.#error ??= error
    })
  }

  /** The error that ended the output, unless its reader has just gone away. */
  get failure(): NodeJS.ErrnoException | undefined {
    return this.isDeserted ? undefined : this.#error
  }

  /** True if the reader has gone away. */
  get isDeserted(): boolean {
    return this.#error?.code === 'EPIPE'
  }

  /** Number of bytes that the reader has not taken yet. */
  get unread(): number {
    return this.#stream.writableLength
  }

  /** Waits until the reader has taken everything. Resolves to false if it has not when the command is to stop. */
  async whenTaken(signal: AbortSignal): Promise<boolean> {
    const taken = new Promise<unknown>(resolve => this.#stream.write('', resolve))
    await beforeAbort(taken, signal, () => new Error('the command is told to stop')).catch(() => {})
    return settlesWithin(taken, lastBytesMs)
  }

  /** Writes a chunk, and waits until the reader takes more. */
  async write(chunk: Buffer, signal: AbortSignal): Promise<void> {
    if (this.#error !== undefined || this.#stream.write(chunk) || signal.aborted) return
    try {
      await once(this.#stream, 'drain', { signal })
    } catch {
      // The stream has failed, which `#error` says, or the command is told to stop.
    }
  }
}
