/**
 * The work that any shipper has, piece by piece, in a process of its own: the measure for what ours adds. Started by
 * experiments/pieces.ts.
 */
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import winston from 'winston'
import { workloadOf } from '../workload/event.ts'

export interface PiecesRequest {
  readonly piece: string
  readonly events: number
}

const { event } = workloadOf(400, 'compressible')
const block = Buffer.allocUnsafeSlow(1 << 20) as Buffer & { utf8Write(text: string, offset: number): number }
const newline = 0x0a
let at = 0

function write(json: string): void {
  if (at + 3 * json.length + 1 > block.length) at = 0
  at += block.utf8Write(json, at)
  block[at++] = newline
}

const jsonFormat = winston.format.json()
const formattedLine = Symbol.for('message')
const zstd1 = { params: { [zlib.constants.ZSTD_c_compressionLevel]: 1 } }

/** Each does one event, its making included: what making it costs is a piece of its own, to be subtracted. */
const perEvent: Readonly<Record<string, (n: number) => unknown>> = {
  'make the event': event,
  'JSON.stringify': n => JSON.stringify(event(n)),
  'JSON.stringify + write into a block': n => write(JSON.stringify(event(n))),
  'format.json()': n => jsonFormat.transform(event(n) as never, {}),
  'format.json() + write into a block': n => {
    const info = jsonFormat.transform(event(n) as never, {}) as Record<symbol, string>
    write(info[formattedLine] as string)
  },
  'new Date().toISOString()': n => [event(n), new Date().toISOString()],
}

/** Each compresses a block of events, on the thread pool. */
const perBlock: Readonly<Record<string, (body: Buffer) => Promise<unknown>>> = {
  'zstd 1': body => promisify(zlib.zstdCompress)(body, zstd1),
  'gzip 1': body => promisify(zlib.gzip)(body, { level: 1 }),
}

process.once('message', async ({ piece, events }: PiecesRequest) => {
  process.send?.(await measured(piece, events))
  process.disconnect?.()
})

async function measured(piece: string, events: number): Promise<{ mainNs: number; allNs: number }> {
  const compress = perBlock[piece]
  const done = compress === undefined ? eventsDone(perEvent[piece] as (n: number) => unknown) : blocksDone(compress)
  await done(Math.min(events, 50_000)) // until the code is compiled
  const main = process.threadCpuUsage()
  const all = process.cpuUsage()
  const count = await done(events)
  const nsPerEvent = ({ user, system }: NodeJS.CpuUsage) => ((user + system) * 1000) / count
  return { mainNs: nsPerEvent(process.threadCpuUsage(main)), allNs: nsPerEvent(process.cpuUsage(all)) }
}

/** A turn of the event loop now and then, as a shipper has. */
const perTurn = 1000

function eventsDone(each: (n: number) => unknown): (events: number) => Promise<number> {
  let kept: unknown
  return async events => {
    for (let n = 0; n < events; n += 1) {
      kept = each(n)
      if (n % perTurn === perTurn - 1) await new Promise(setImmediate)
    }
    if (kept === null) throw new Error('unreachable: it keeps the compiler from dropping the work')
    return events
  }
}

function blocksDone(compress: (body: Buffer) => Promise<unknown>): (events: number) => Promise<number> {
  at = 0
  let inBlock = 0
  for (; at + 2000 < block.length; inBlock += 1) write(JSON.stringify(event(inBlock)))
  const body = block.subarray(0, at)
  return async events => {
    let count = 0
    for (; count < events; count += inBlock) await compress(body)
    return count
  }
}
