import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { type Dispatcher, Pool } from 'undici'

const blockBytes = 1 << 20
const connections = 4
const newline = 0x0a

const zstdCompress = promisify(zlib.zstdCompress)
const zstd1 = { params: { [zlib.constants.ZSTD_c_compressionLevel]: 1 } }

/** In Node and not in its types: `write` without the checks of its arguments. */
type WritableBlock = Buffer & { utf8Write(text: string, offset: number): number }

/**
 * The least that shipping takes: JSON is written into a block of a mebibyte, and a full block is posted with undici. No
 * bounds, no accounting, no timestamps, no retry, no regard for what is answered. Not a library: a limit to measure by.
 */
export class BareLoop {
  readonly #pool: Pool
  readonly #compresses: boolean
  readonly #headers: Record<string, string>
  readonly #free: WritableBlock[] = []
  #block = newBlock()
  #length = 0
  #underWay = 0
  #whenIdle: (() => void) | undefined

  constructor(url: string, compresses = false) {
    this.#pool = new Pool(url, { connections, pipelining: 1 })
    this.#compresses = compresses
    this.#headers = { authorization: 'Bearer benchmark', 'content-type': 'application/x-ndjson' }
    if (compresses) this.#headers['content-encoding'] = 'zstd'
  }

  add(json: string): void {
    if (this.#length + 3 * json.length + 1 > this.#block.length) {
      this.#post()
      if (3 * json.length + 1 > this.#block.length) this.#block = newBlock(3 * json.length + 1)
    }
    const end = this.#length + this.#block.utf8Write(json, this.#length)
    this.#block[end] = newline
    this.#length = end + 1
  }

  async flush(): Promise<void> {
    this.#post()
    if (this.#underWay === 0) return
    await new Promise<void>(resolve => {
      this.#whenIdle = resolve
    })
  }

  async close(): Promise<void> {
    await this.flush()
    await this.#pool.close()
  }

  #post(): void {
    if (this.#length === 0) return
    const block = this.#block
    const body = block.subarray(0, this.#length)
    this.#block = this.#free.pop() ?? newBlock()
    this.#length = 0
    this.#underWay += 1
    if (!this.#compresses) return this.#send(body, block)
    void zstdCompress(body, zstd1).then(compressed => this.#send(compressed, block))
  }

  #send(body: Buffer, block: WritableBlock): void {
    const request = { method: 'POST', path: '/v1/datasets/bare/ingest', headers: this.#headers, body } as const
    this.#pool.dispatch(request as Dispatcher.DispatchOptions, {
      // undici asks for these two.
      onRequestStart() {},
      onResponseData() {},
      onResponseStart(_, status) {
        if (status !== 200) throw new Error(`the receiver answers ${status}`)
      },
      onResponseEnd: () => this.#settle(block),
      onResponseError: (_, error) => {
        console.error('bare loop:', error.message)
        this.#settle(block)
      },
    })
  }

  #settle(block: WritableBlock): void {
    if (block.length === blockBytes) this.#free.push(block)
    this.#underWay -= 1
    if (this.#underWay > 0) return
    this.#whenIdle?.()
    this.#whenIdle = undefined
  }
}

function newBlock(bytes = blockBytes): WritableBlock {
  return Buffer.allocUnsafeSlow(Math.max(bytes, blockBytes)) as WritableBlock
}
