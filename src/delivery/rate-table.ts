import { prepareMachineDirectory, useFile } from '../files/machine-directory.ts'
import { isOurs } from '../files/private-directory.ts'
import { withoutTracing } from '../http/without-tracing.ts'
import { builtinModule } from '../node-version.ts'
import { systemTimeMs } from '../time.ts'
import type { SharedRates } from './rate-exchange.ts'
import type { SharedRate } from './rate-limiter.ts'

const fs = builtinModule('node:fs')
const { join } = builtinModule('node:path')

const rowBytes = 128
/** Maximum number of rows. Further processes only read. */
const maxRows = 1024
/** Time for which a row counts, in milliseconds: three exchanges. After that, its process has ended or is idle. */
const rowHoldsMs = 6000
/** Number of free rows of which a process takes any one, so that many may start at the same time. */
const choice = 128

const fileName = /^[\da-f]{32}\.rates$/
const rowPattern =
  /^([\da-f]{12}) (\d{13}) (\d{1,9}\.\d{4}) ([01]\.\d{4}) (\d{1,5}) (\d{1,9}\.\d{4}) (\d{1,9}\.\d{4}) (\d{1,5}) (\d{1,5}) ([-t])([-m]) *\n$/
const { O_RDONLY, O_RDWR, O_CREAT } = fs.constants

/** Maximum of the times in a row, in milliseconds. It also stands for a request that never was. */
const maxMs = 99_999
/** Maximum rate in a row, which must not reach into the next row whatever limit the service tells. */
const maxPerSecond = 999_999_999

const noRow = `${' '.repeat(rowBytes - 1)}\n`

interface Row extends SharedRate {
  readonly processId: string
}

/**
 * The rates of processes on one machine that share a limit: a file with a row for each of them. A process writes its own
 * row only. If two processes have chosen the same row, the one whose row is gone at its next exchange chooses another.
 *
 * A row is a text of 128 bytes, with these fields:
 *
 * - a random id of the process, and the time in milliseconds since 1970
 * - requests per second, the part of them that is refused, and the seconds since the last 429
 * - accepted and refused requests per second
 * - the milliseconds since a request was accepted, and until the next one is due
 * - `t` for a trial, and `m` for a maximum
 */
export class RateTable implements SharedRates {
  readonly #directory: string
  readonly #key: () => string
  #processId = ''
  #path: string | undefined
  #index: number | undefined

  /**
   * @param key returns a SHA-256 hash of what the processes must have in common, in hexadecimal digits; called when the
   *   table is first needed
   */
  constructor(directory: string, key: () => string) {
    this.#directory = directory
    this.#key = key
  }

  /**
   * @throws UnsafePath if another user could write to the directory
   * @throws any error from the disk
   */
  async exchange(own: SharedRate): Promise<readonly SharedRate[]> {
    const atMs = systemTimeMs()
    try {
      const path = this.#path ?? this.#prepare()
      this.#path = path
      return withoutTracing(() => this.#exchangeIn(path, this.#rowOf(own, atMs)))
    } catch (error) {
      this.#path = undefined // the directory may be gone, and is made again
      throw error
    }
  }

  async read(): Promise<readonly SharedRate[]> {
    const nowMs = systemTimeMs()
    if (!isInUse(this.#directory, nowMs)) return [] // the usual case: nothing is loaded, and nothing is created
    const path = this.#path ?? this.#prepare()
    this.#path = path
    const rows = withoutTracing(() => useFile(path, O_RDONLY, allRows)) ?? [] // no file: the table in use is another one
    return rows.filter(row => row !== undefined).filter(row => this.#isOfOther(row))
  }

  leave(): void {
    const [path, index] = [this.#path, this.#index]
    if (path === undefined || index === undefined) return
    this.#index = undefined
    try {
      useFile(path, O_RDWR, file => {
        const row = Buffer.alloc(rowBytes)
        fs.readSync(file, row, 0, rowBytes, index * rowBytes)
        if (row.toString('latin1').startsWith(this.#processId)) fs.writeSync(file, noRow, index * rowBytes, 'latin1')
      })
    } catch {
      // The row is soon too old to count.
    }
  }

  /** Prepares the directory, and returns the path of the table. */
  #prepare(): string {
    const { randomBytes } = process.getBuiltinModule('node:crypto') // takes milliseconds to load, so only if it is used
    if (this.#processId === '') this.#processId = randomBytes(6).toString('hex')
    prepareMachineDirectory(this.#directory)
    return join(this.#directory, `${this.#key().slice(0, 32)}.rates`)
  }

  #exchangeIn(path: string, own: string): readonly SharedRate[] {
    const others = useFile(path, O_RDWR | O_CREAT, file => {
      const rows = allRows(file)
      const isOfOther = (row: Row | undefined) => row !== undefined && this.#isOfOther(row)
      if (this.#index === undefined || isOfOther(rows[this.#index])) this.#index = freeIndex(rows)
      if (this.#index !== undefined) fs.writeSync(file, own, this.#index * rowBytes, 'latin1')
      return rows.filter(row => row !== undefined).filter(isOfOther)
    })
    return others ?? []
  }

  #isOfOther({ processId }: Row): boolean {
    return processId !== this.#processId
  }

  #rowOf(own: SharedRate, atMs: number): string {
    const { refusedPart, sinceRefusedMs, isTrial, isMaximum } = own
    const [perSecond, accepted, refused] = [own.requestsPerSecond, own.acceptedPerSecond, own.refusedPerSecond].map(
      rate => Math.min(rate, maxPerSecond).toFixed(4),
    )
    const [sinceAcceptedMs, untilNextMs] = [own.sinceAcceptedMs, own.nextStartMs].map(ms =>
      Math.min(Math.max(Math.round(ms), 0), maxMs),
    )
    // Rounded up: rounded down, the last 429 would seem more recent with each process that passes its time on.
    const seconds = Math.min(Math.ceil(sinceRefusedMs / 1000), 99_999)
    const answers = `${refusedPart.toFixed(4)} ${seconds} ${accepted} ${refused} ${sinceAcceptedMs}`
    const row = `${this.#processId} ${atMs} ${perSecond} ${answers} ${untilNextMs} ${isTrial ? 't' : '-'}${isMaximum ? 'm' : '-'}`
    return `${row.padEnd(rowBytes - 1)}\n`
  }
}

function allRows(file: number): (Row | undefined)[] {
  const bytes = Buffer.alloc(maxRows * rowBytes)
  return rowsIn(bytes.toString('latin1', 0, fs.readSync(file, bytes, 0, bytes.length, 0)))
}

/** Returns the rows by their index; `undefined` in place of an old or malformed row. */
function rowsIn(text: string): (Row | undefined)[] {
  const nowMs = systemTimeMs()
  const rows: (Row | undefined)[] = []
  for (let at = 0; at < text.length; at += rowBytes) rows.push(rowIn(text.slice(at, at + rowBytes), nowMs))
  return rows
}

function rowIn(text: string, nowMs: number): Row | undefined {
  const found = rowPattern.exec(text)
  if (found === null) return undefined
  const [, processId = '', atMs, rate, part, seconds, accepted, refused, sinceAcceptedMs, untilNextMs, trial, maximum] =
    found
  const [requestsPerSecond, refusedPart, sinceMs] = [Number(rate), Number(part), nowMs - Number(atMs)]
  if (Math.abs(sinceMs) > rowHoldsMs || requestsPerSecond === 0 || refusedPart > 1) return undefined
  const ageMs = Math.max(sinceMs, 0) // the clock may have been set back
  return {
    processId,
    requestsPerSecond,
    refusedPart,
    sinceRefusedMs: Number(seconds) * 1000 + ageMs,
    acceptedPerSecond: Number(accepted),
    refusedPerSecond: Number(refused),
    sinceAcceptedMs: Number(sinceAcceptedMs) === maxMs ? Number.POSITIVE_INFINITY : Number(sinceAcceptedMs) + ageMs,
    nextStartMs: Number(untilNextMs) - ageMs,
    isTrial: trial === 't',
    isMaximum: maximum === 'm',
  }
}

/**
 * Returns the index of one of the first free rows; `undefined` if there is none. Processes that start at the same time
 * usually choose different ones.
 */
function freeIndex(rows: readonly (Row | undefined)[]): number | undefined {
  const free: number[] = []
  for (let index = 0; index < maxRows && free.length < choice; index++) if (rows[index] === undefined) free.push(index)
  return free[Math.floor(Math.random() * free.length)]
}

/** True if a table in the directory was written to during the last seconds. */
function isInUse(directory: string, nowMs: number): boolean {
  try {
    const stat = fs.lstatSync(directory)
    if (!stat.isDirectory() || !isOurs(stat.uid)) return false // another user may have put any number of files there
    const tables = fs.readdirSync(directory).filter(name => fileName.test(name))
    return tables.some(name => nowMs - fs.lstatSync(join(directory, name)).mtimeMs <= rowHoldsMs)
  } catch {
    return false // there is no directory
  }
}
