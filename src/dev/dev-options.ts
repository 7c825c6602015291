import { isIP } from 'node:net'
import { FaultMistake } from './faults/fault-mistake.ts'
import { faultOfText } from './faults/fault-text.ts'
import { bytesOf } from './faults/units.ts'
import { defaultPort, type FaultSettings } from './protocol.ts'
import { isToken } from './stable-token.ts'

const mebibyte = 1_048_576
const defaultMaxEvents = 100_000
const defaultMaxBytes = 128 * mebibyte
const maxMaxEvents = 2_000_000

/** An option of the command line is invalid. The message names the option and what is expected. */
export class InvalidOption extends Error {}

/** The options of `logferry dev`, checked and with their defaults. */
export interface DevOptions {
  readonly port: number
  readonly host: string
  readonly token: string | undefined
  readonly maxEvents: number
  readonly maxBytes: number
  readonly limitsFile: string | undefined
  readonly faults: readonly FaultSettings[]
  readonly saveFile: string | undefined
  readonly loadFile: string | undefined
  readonly keepsRunning: boolean
  readonly isPrivate: boolean
  readonly tails: boolean
  readonly printsJson: boolean
  readonly allowedHosts: readonly string[]
  readonly allowedOrigins: readonly string[]
  /** The program to run, and its arguments. */
  readonly program: readonly string[] | undefined
}

type Given = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>

/** Options that say how a service runs, and say nothing to a service that runs already. */
const ofService = ['host', 'limits', 'fault', 'save', 'load', 'max-events', 'max-bytes', 'allow-host', 'allow-origin']

/** Returns the first option that a service which runs already cannot follow. */
export function optionOfService(given: Given): string | undefined {
  return [...ofService, 'keep', 'private', 'tail'].find(name => given[name] !== undefined && given[name] !== false)
}

/** @throws InvalidOption */
export function devOptions(given: Given): DevOptions {
  const program = given.program as string[] | undefined
  if (program !== undefined && !program[0])
    throw new InvalidOption('give a program after --, such as: logferry dev -- node app.js')
  if (given.json === true && program !== undefined)
    throw new InvalidOption('--json has no effect with a program after --: standard output is that of the program')
  if (given.keep === true && program === undefined) throw new InvalidOption('--keep needs a program after --')
  return {
    port: given.port === undefined ? defaultPort : integer('--port', given.port, 0, 65_535),
    host: hostOf('--host', given.host ?? '127.0.0.1'),
    token: tokenOf(given.token),
    maxEvents:
      given['max-events'] === undefined
        ? defaultMaxEvents
        : integer('--max-events', given['max-events'], 1, maxMaxEvents),
    maxBytes: given['max-bytes'] === undefined ? defaultMaxBytes : sizeOf('--max-bytes', given['max-bytes']),
    limitsFile: given.limits as string | undefined,
    faults: listOf(given.fault).map(faultOf),
    saveFile: given.save as string | undefined,
    loadFile: given.load as string | undefined,
    keepsRunning: given.keep === true,
    isPrivate: given.private === true,
    tails: given.tail === true,
    printsJson: given.json === true,
    allowedHosts: listOf(given['allow-host']).map(name => hostOf('--allow-host', name)),
    allowedOrigins: listOf(given['allow-origin']).map(originOf),
    program,
  }
}

function listOf(value: Given[string]): string[] {
  return (value ?? []) as string[]
}

function integer(name: string, value: Given[string], min: number, max: number): number {
  const number = /^\d+$/.test(String(value)) ? Number(value) : Number.NaN
  if (number >= min && number <= max) return number
  throw new InvalidOption(`${name} must be a number from ${min} to ${max}, not '${value}'`)
}

function sizeOf(name: string, value: Given[string]): number {
  const bytes = bytesOf(String(value))
  if (bytes >= mebibyte && bytes <= Number.MAX_SAFE_INTEGER) return Math.floor(bytes)
  throw new InvalidOption(`${name} must be a size from 1MiB, such as 256MiB, not '${value}'`)
}

function hostOf(name: string, value: Given[string]): string {
  const host = String(value)
  if (isIP(host) !== 0 || /^(?!\d+$)[\w.-]+$/.test(host)) return host
  throw new InvalidOption(`${name} must be a host name or an address without a port, not '${host}'`)
}

function originOf(value: string): string {
  if (URL.canParse(value) && new URL(value).origin === value) return value
  throw new InvalidOption(`--allow-origin must be an origin such as http://localhost:3000, not '${value}'`)
}

function tokenOf(value: Given[string]): string | undefined {
  if (value === undefined || isToken(String(value))) return value as string | undefined
  throw new InvalidOption(
    '--token must have at least 8 characters, a letter among them: letters, digits and . _ ~ + / = -',
  )
}

function faultOf(text: string): FaultSettings {
  try {
    return faultOfText(text)
  } catch (error) {
    if (error instanceof FaultMistake) throw new InvalidOption(`--fault '${text}': ${error.message}`)
    throw error
  }
}
