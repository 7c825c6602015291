import { Transform, type TransformCallback } from 'node:stream'

/** Maximum length of a message that an agent sends, in bytes. The longest that our tools need has a few kilobytes. */
export const maxMessageBytes = 1_048_576

/** Bytes of each end of a message that is too long, among which its `id` is looked for. */
const endBytes = 1024

/** A message that is too long: its length, and its `id` as JSON if the message has one at either end. */
export interface LongMessage {
  readonly bytes: number
  readonly id: string | number | undefined
}

const newline = 0x0a
const idAtStart = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15}|"[ !#-[\]-~]*")\s*,/
const idAtEnd = /,\s*"id"\s*:\s*(\d{1,15}|"[ !#-[\]-~]*")\s*\}\s*$/

/**
 * Passes on the messages of an agent, one in each line. Drops and reports each message that is too long: the SDK would
 * close the connection.
 */
export class MessageLimit extends Transform {
  readonly #onTooLong: (message: LongMessage) => void
  /** The parts of a message whose end has not come yet, unless it is already too long. */
  #parts: Buffer[] = []
  #bytes = 0
  #start = Buffer.alloc(0)
  #end = Buffer.alloc(0)

  constructor(onTooLong: (message: LongMessage) => void) {
    super()
    this.#onTooLong = onTooLong
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    let start = 0
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      this.#append(chunk.subarray(start, end + 1))
      this.#endMessage()
      start = end + 1
    }
    if (start < chunk.length) this.#append(chunk.subarray(start))
    done()
  }

  override _flush(done: TransformCallback): void {
    if (this.#bytes > maxMessageBytes) this.#endMessage()
    done()
  }

  #append(part: Buffer): void {
    this.#bytes += part.length
    if (this.#start.length < endBytes) this.#start = Buffer.concat([this.#start, part.subarray(0, endBytes)])
    this.#end = Buffer.concat([this.#end, part.subarray(-endBytes)]).subarray(-endBytes)
    if (this.#bytes <= maxMessageBytes) this.#parts.push(part)
    else this.#parts = []
  }

  #endMessage(): void {
    if (this.#bytes <= maxMessageBytes) this.push(Buffer.concat(this.#parts, this.#bytes))
    else this.#onTooLong({ bytes: this.#bytes, id: idBetween(this.#start, this.#end) })
    this.#parts = []
    this.#bytes = 0
    this.#start = Buffer.alloc(0)
    this.#end = Buffer.alloc(0)
  }
}

function idBetween(start: Buffer, end: Buffer): string | number | undefined {
  const id = (idAtStart.exec(start.toString()) ?? idAtEnd.exec(end.toString()))?.[1]
  return id === undefined ? undefined : JSON.parse(id)
}
