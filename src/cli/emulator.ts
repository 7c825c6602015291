import { isIPv6 } from 'node:net'
import { type Emulator, startEmulator } from '../emulator.ts'
import { toMessageLine } from '../text/short-line.ts'
import { type Command, type Given, Misuse } from './command.ts'
import { outputInJson, outputInWords } from './emulator-output.ts'
import { outputEnded } from './output-ended.ts'
import { printError } from './print.ts'
import { printArrivals } from './print-arrivals.ts'
import { stopBySignal } from './stop-signals.ts'

/**
 * Maximum size of the stored events with --tail, in bytes. It is low because --tail reads the stored events again and
 * again.
 */
const maxTailedBytes = 64 * 1024 * 1024

export const command: Command = {
  description: `Runs the service on this machine, and keeps the received events in memory. Press Ctrl-C to stop it.

Open its address in a browser to see the events.

Exits with 0 when it is stopped, with 1 if it cannot listen.`,
  options: {
    port: { value: 'number', description: 'port to listen on (default: a free one)' },
    host: {
      value: 'name',
      description: 'address to listen on (default: 127.0.0.1, reachable from this machine only)',
    },
    'allow-host': {
      value: 'name',
      isMultiple: true,
      description:
        'another name that applications may use for this machine, such as that of a container; loopback names and ' +
        '--host are always allowed',
    },
    token: { value: 'text', description: 'API token to accept (default: a random one)' },
    tail: { description: 'print the dataset and the JSON of each event as it arrives' },
    json: {
      description:
        'print one JSON object a line: the settings, each event with --tail, and the number of events at the end',
    },
  },
  foreignOptions: { '-p': 'Did you mean --port?' },
  async run(given) {
    const token = tokenOf(given)
    const emulator = await started(given, token)
    if (emulator === undefined) return 1
    const end = Promise.race([stopBySignal(), outputEnded()])
    const output = given.json === true ? outputInJson : outputInWords(given.tail === true)
    output.listening(emulator, token ?? emulator.token)
    const stopTail = given.tail === true ? printArrivals(emulator, output.event) : undefined
    await end
    stopTail?.()
    await emulator.close()
    output.ended(emulator.stats().stored)
    return 0
  },
}

async function started(given: Given, token: string | undefined): Promise<Emulator | undefined> {
  const port = portOf(given)
  const host = given.host as string | undefined
  if (host === '') throw new Misuse('--host must be a host name or an address')
  const allowedHosts = given['allow-host'] as string[] | undefined
  if (allowedHosts?.some(name => !isHost(name))) throw new Misuse('--allow-host must be a host name or an address')
  const tokens = token === undefined ? [] : [{ kind: 'api', actions: ['ingest'], token } as const]
  const maxStoredBytes = given.tail === true ? maxTailedBytes : undefined
  try {
    return await startEmulator({ host, allowedHosts, port, tokens, maxStoredBytes })
  } catch (error) {
    if (!isSystemError((error as Error).cause)) throw error
    printError(`logferry: ${toMessageLine((error as Error).message)}. Choose another address with --port or --host.`)
    return undefined
  }
}

function isHost(text: string): boolean {
  return /^[\w.:[\]-]+$/.test(text) && URL.canParse(`http://${isIPv6(text) ? `[${text}]` : text}`)
}

function portOf({ port }: Given): number | undefined {
  if (port === undefined) return undefined
  const number = /^\d+$/.test(String(port)) ? Number(port) : Number.NaN
  if (number <= 65_535) return number
  throw new Misuse(`--port must be a number from 0 to 65535, not '${port}'`)
}

function tokenOf({ token }: Given): string | undefined {
  // Only characters that a shell leaves alone: the user pastes the printed token into a shell.
  if (token === undefined || /^[\w.~+/=-]+$/.test(String(token))) return token as string | undefined
  throw new Misuse('--token may contain only letters, digits and . _ ~ + / = -')
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error
}
