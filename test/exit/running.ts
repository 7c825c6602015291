import { type Emulator, type EmulatorOptions, startEmulator } from '../../src/emulator.ts'
import { createShipper, type FlushResult } from '../../src/index.ts'
import { type Ended, runNode } from '../support/run-script.ts'

/** Returns the environment of a process that ships to dataset `d` of an emulator, or of another server. */
export function environmentFor(to: Pick<Emulator, 'url'> & { token?: string }): Record<string, string> {
  return { LOGFERRY_URL: to.url, LOGFERRY_TOKEN: to.token ?? 'some-token', LOGFERRY_DATASET: 'd' }
}

/** Time for the delivery at the end where time is not the subject: other tests leave little of a processor. */
export const enoughMs = 8000

/** The built package: without types to strip, a process starts in half the time. */
export const core = (options = '') => `
  import { createShipper } from 'logferry'
  const shipper = createShipper({ exitTimeoutMs: ${enoughMs}, ${options} })
  const log = (from, to = from + 1) => { for (let n = from; n < to; n++) shipper.ship({ level: 'info', n }) }
`

export const winston = (options = '') => `
  import winston from 'winston'
  import { LogferryTransport } from 'logferry/winston'
  const transport = new LogferryTransport({ exitTimeoutMs: ${enoughMs}, ${options} })
  const { shipper } = transport
  const logger = winston.createLogger({ transports: [transport] })
  const log = (from, to = from + 1) => { for (let n = from; n < to; n++) logger.info('hello', { n }) }
`

/** The end of a process, and the numbers of the events that had arrived by then. */
export interface Delivered extends Ended {
  readonly numbers: number[]
  readonly requests: number
}

export interface Running {
  /** Arguments of Node in place of `--input-type=module`. */
  args?: readonly string[]
  environment?: Record<string, string>
  emulatorOptions?: EmulatorOptions
  prepare?: (emulator: Emulator) => void
}

/** Runs a program against an emulator in this process. */
export async function run(source: string, running: Running = {}): Promise<Delivered> {
  const { args = ['--input-type=module'], environment, emulatorOptions, prepare } = running
  await using emulator = await startEmulator(emulatorOptions)
  prepare?.(emulator)
  const ended = await runNode([...args, '--eval', source], { ...environmentFor(emulator), ...environment })
  const numbers = emulator.events('d').map(({ n, attributes }) => (n ?? (attributes as { n: number }).n) as number)
  return { ...ended, numbers, requests: emulator.stats().requests }
}

/** Delivers what an ended process has left in a spool, from this process. */
export function deliverRest(directory: string, { url, token }: Emulator): Promise<FlushResult> {
  return createShipper({ baseUrl: url, token, dataset: 'd', spool: { directory } }).close({ timeoutMs: 60_000 })
}

export const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

export const inOrder = (numbers: readonly number[]): number[] => numbers.toSorted((a, b) => a - b)
