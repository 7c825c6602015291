import type { SeverityName, ShipperOptions } from '../../index.ts'
import { quoted, toShortLine } from '../../text/short-line.ts'
import { type Given, Misuse } from '../command.ts'
import { serviceOf } from '../service.ts'
import type { LineFormat, LinesToEventsOptions } from './lines-to-events.ts'

/** The choices of --level and --min-severity. */
export const severities = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
export const formats = ['auto', 'json', 'text'] as const
export const durabilities = ['disk', 'memory'] as const

const maxNameChars = 200
/** Maximum size of the fields that each event gets, in bytes. */
const maxFieldBytes = 65_536
/** The field for the timestamp. */
const timeField = '_time'
/** Minimum of --buffer-bytes: 8 batches. */
export const minBufferBytes = 8_388_608
const maxBytes = 1e15
/** With a spool, the maximum memory for waiting events, unless --buffer-bytes is given. */
const spooledBufferBytes = 33_554_432
/** The spool has room for everything in memory, and as much again that has waited longer. */
const spoolPerBuffer = 2
const minSpoolBytes = spoolPerBuffer * minBufferBytes
const usualSpoolBytes = 1_073_741_824
const maxSeconds = 1_000_000
/** Default of --read-on. */
export const readOnSeconds = 10

/** The command line, checked. */
export interface PipeOptions {
  readonly lines: LinesToEventsOptions
  readonly shipper: ShipperOptions
  readonly isTee: boolean
  /** True if the summary is printed as JSON, to standard output. */
  readonly isJson: boolean
  readonly spoolDirectory: string | undefined
  /** True if each event is on disk before its line is passed on. */
  readonly isOnDisk: boolean
  /** Maximum time for which the input is read on after a signal. */
  readonly readOnMs: number
  /** Maximum time for delivery after the end of the input; `undefined` to go on while events are delivered. */
  readonly timeoutMs: number | undefined
}

/**
 * @param given whose choices have been checked
 * @throws Misuse
 */
export function pipeOptionsOf(given: Given): PipeOptions {
  const format: LineFormat = (given.format as LineFormat | undefined) ?? 'auto'
  const spoolDirectory = textOf(given, 'spool')
  const { durability } = given
  if (given.tee === true && given.json === true)
    throw new Misuse('--tee and --json exclude each other: both write to standard output. Give one of them.')
  const bufferBytes = bytesOf(given, 'buffer-bytes', minBufferBytes)
  const spoolBytes = bytesOf(given, 'spool-max-bytes', minSpoolBytes)
  if (spoolDirectory === undefined && durability === 'disk') throw new Misuse('--durability disk needs --spool')
  if (spoolDirectory === undefined && spoolBytes !== undefined) throw new Misuse('--spool-max-bytes needs --spool')
  if (spoolDirectory !== undefined) checkSpoolBytes(spoolBytes ?? usualSpoolBytes, bufferBytes ?? spooledBufferBytes)
  const isOnDisk = spoolDirectory !== undefined && durability !== 'memory'
  return {
    lines: {
      format,
      level: given.level as string | undefined,
      fields: fieldsOf(given.field as string[] | undefined),
      timeField: textOf(given, 'time-field'),
    },
    shipper: {
      ...serviceOf(given),
      dataset: given.dataset as string | undefined,
      timeField,
      minSeverity: given['min-severity'] as SeverityName | undefined,
      redact: given.redact as string[] | undefined,
      redactText: patternsOf(given['redact-text'] as string[] | undefined),
      maxBufferedBytes: bufferBytes ?? (spoolDirectory === undefined ? undefined : spooledBufferBytes),
      spool: spoolDirectory === undefined ? undefined : { directory: spoolDirectory, maxBytes: spoolBytes },
      durability: isOnDisk ? 'disk' : 'memory',
      maxRetryDelayMs: 5000,
      exitOnSignals: false, // the command has its own handlers
    },
    isTee: given.tee === true,
    isJson: given.json === true,
    spoolDirectory,
    isOnDisk,
    readOnMs: millisecondsOf(given, 'read-on') ?? readOnSeconds * 1000,
    timeoutMs: millisecondsOf(given, 'timeout'),
  }
}

function textOf(given: Given, name: string): string | undefined {
  if (given[name] === '') throw new Misuse(`--${name} must not be empty`)
  return given[name] as string | undefined
}

function fieldsOf(given: readonly string[] = []): Map<string, string> {
  const fields = new Map<string, string>()
  let bytes = 0
  for (const field of given) {
    const at = field.indexOf('=')
    const name = field.slice(0, at)
    if (at < 1 || name.length > maxNameChars) {
      throw new Misuse(`--field must be name=value, with a name of 1 to ${maxNameChars} characters, not '${field}'`)
    }
    if (name === timeField) throw new Misuse(`--field must not be ${timeField}, the time of the event`)
    if (fields.has(name)) throw new Misuse(`--field must name each field once, and names ${quoted(name)} twice`)
    fields.set(name, field.slice(at + 1))
    bytes += Buffer.byteLength(JSON.stringify(field))
  }
  if (bytes <= maxFieldBytes) return fields
  throw new Misuse(`--field must take at most ${maxFieldBytes} bytes for all fields together, not ${bytes}`)
}

function patternsOf(given: readonly string[] | undefined): RegExp[] | undefined {
  return given?.map(pattern => {
    try {
      return new RegExp(pattern, 'g')
    } catch (error) {
      throw new Misuse(`--redact-text must be a regular expression. ${toShortLine((error as Error).message)}`)
    }
  })
}

function bytesOf(given: Given, name: string, min: number): number | undefined {
  const value = given[name]
  if (value === undefined) return undefined
  const bytes = /^\d+$/.test(String(value)) ? Number(value) : Number.NaN
  if (bytes >= min && bytes <= maxBytes) return bytes
  throw new Misuse(`--${name} must be a number of bytes from ${min} to ${maxBytes}, not '${value}'`)
}

function checkSpoolBytes(spoolBytes: number, bufferBytes: number): void {
  const needed = spoolPerBuffer * bufferBytes
  if (spoolBytes >= needed) return
  throw new Misuse(
    `--spool-max-bytes must be at least ${spoolPerBuffer} × --buffer-bytes (${needed}), not ${spoolBytes}`,
  )
}

function millisecondsOf(given: Given, name: string): number | undefined {
  const value = given[name]
  if (value === undefined) return undefined
  const seconds = /^\d+(\.\d+)?$/.test(String(value)) ? Number(value) : Number.NaN
  if (seconds <= maxSeconds) return seconds * 1000
  throw new Misuse(`--${name} must be a number of seconds from 0 to ${maxSeconds}, not '${value}'`)
}
