import type winston from 'winston'
import TransportStream from 'winston-transport'
import { BareLoop } from './bare-loop.ts'
import type { Source, Target } from './set-up.ts'
import { winstonSource } from './winston-logger.ts'

const formattedLine = Symbol.for('message')

type Info = Readonly<Record<symbol, string>>

class BareTransport extends TransportStream {
  readonly #loop: BareLoop

  constructor(loop: BareLoop) {
    super()
    this.#loop = loop
  }

  override log(info: Info, callback: () => void): void {
    this.#loop.add(JSON.stringify(info))
    callback()
  }
}

/** Posts the line that the logger's format.json() has made. */
class BareLineTransport extends TransportStream {
  readonly #loop: BareLoop

  constructor(loop: BareLoop) {
    super()
    this.#loop = loop
  }

  override log(info: Info, callback: () => void): void {
    this.#loop.add(info[formattedLine] as string)
    callback()
  }
}

export function open(
  { url, workload, load }: Target,
  format: winston.Logform.Format,
  { postsLine = false, compresses = false } = {},
): Source {
  const loop = new BareLoop(url, compresses)
  const Transport = postsLine ? BareLineTransport : BareTransport
  const transports = Array.from({ length: load.loggers }, () => new Transport(loop))
  const { log, endLoggers } = winstonSource(workload, format, transports)
  return { log, flush: () => loop.flush(), end: () => endLoggers().then(() => loop.close()) }
}
