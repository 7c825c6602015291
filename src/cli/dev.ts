import { readFile } from 'node:fs/promises'
import { setFlagsFromString } from 'node:v8'
import { type DevOptions, devOptions, InvalidOption, optionOfService } from '../dev/dev-options.ts'
import { DevService, defaultDataset, FileTrouble } from '../dev/dev-service.ts'
import { FaultMistake } from '../dev/faults/fault-mistake.ts'
import { SnapshotFile } from '../dev/intake/snapshot-file.ts'
import { runProgram } from '../dev/run-program.ts'
import { type RunningService, runningService } from '../dev/running-service.ts'
import { stableToken } from '../dev/stable-token.ts'
import { counted } from '../text/counted.ts'
import { escapeJson } from '../text/escape-json.ts'
import { fileTrouble } from '../text/file-trouble.ts'
import { toMessageLine } from '../text/short-line.ts'
import { withoutByteOrderMark } from '../text/without-byte-order-mark.ts'
import { type Command, type Given, Misuse } from './command.ts'
import { toJsonLine } from './events/json.ts'
import { printerOf } from './events/reader-options.ts'
import type { ShownEvent } from './events/shown-event.ts'
import { fileLines } from './file-lines.ts'
import { outputEnded } from './output-ended.ts'
import { packageVersion } from './package-version.ts'
import { print, printError, whenTaken } from './print.ts'
import { stopBySignal } from './stop-signals.ts'
import { boundYoungGeneration } from './young-generation.ts'

export const command: Command = {
  description: `Runs a local service with a page that shows your logs as they arrive. Press Ctrl-C to stop it.

With a program after --, the program runs with the settings that it needs to ship to the service. The service ends with
the program, and returns its exit code. If a dev service runs already, the program ships to that one.

Without a program, exits with 0 when it is stopped, with 1 if it cannot start.`,
  options: {
    port: { value: 'number', description: 'port to listen on (default: 4800; 0 for a free one)' },
    host: { value: 'name', description: 'address to listen on (default: 127.0.0.1, reachable from this machine only)' },
    limits: {
      value: 'file',
      completes: 'files',
      description: 'JSON file with limits of the license to enforce, such as {"maxFields": 256}',
    },
    fault: {
      value: 'fault',
      isMultiple: true,
      description: 'fault to start with, such as status=503,for=30s',
    },
    save: { value: 'file', completes: 'files', description: 'file to append the received events to, one line each' },
    load: { value: 'file', completes: 'files', description: 'file of --save, or of events, to show from the start' },
    'max-events': { value: 'number', description: 'number of events to keep (default: 100000)' },
    'max-bytes': { value: 'size', description: 'memory for kept events (default: 128MiB)' },
    keep: { description: 'keep the service running after the program has ended' },
    token: { value: 'text', description: 'API token to accept (default: a random one, the same in each run)' },
    'allow-host': {
      value: 'name',
      isMultiple: true,
      description: 'another name under which browsers may open the page',
    },
    'allow-origin': {
      value: 'origin',
      isMultiple: true,
      description: 'origin of a web page that may ingest, such as http://localhost:3000',
    },
    tail: { description: 'print the events as they arrive' },
    json: {
      description:
        'print one JSON object a line: the settings, each event with --tail, and the number of events at the end',
    },
    private: { description: 'ask for a key also on this machine, which other users may share' },
  },
  excessRemedy: 'Write -- before the program.',
  afterDashes: { name: 'program', description: 'program to run, and its arguments' },
  foreignOptions: { '-p': 'Did you mean --port?' },
  outlivesReader: true,
  async run(given) {
    // The heap of a process that takes 10,000 events a second otherwise grows to three times what it keeps.
    setFlagsFromString('--heap-growing-percent=40')
    boundYoungGeneration()
    const options = optionsOf(given)
    const limits = options.limitsFile === undefined ? undefined : await limitsIn(options.limitsFile)
    const { token, problem } =
      options.token === undefined ? stableToken() : { token: options.token, problem: undefined }
    if (problem !== undefined) printError(`logferry: ${toMessageLine(problem)}`)
    try {
      return await serve(options, token, limits)
    } catch (error) {
      const isExpected = error instanceof FileTrouble || isSystemError(error) || isSystemError((error as Error).cause)
      if (!isExpected) throw error
      if (((error as Error).cause as NodeJS.ErrnoException | undefined)?.code === 'EADDRINUSE') {
        return joinService(given, options, token)
      }
      printError(`logferry: ${toMessageLine((error as Error).message)}`)
      return 1
    }
  },
}

async function serve(options: DevOptions, token: string, limits: unknown): Promise<number> {
  const snapshot = options.saveFile === undefined ? undefined : await openSnapshot(options.saveFile)
  const service = await DevService.start({
    ...options,
    token,
    version: packageVersion(),
    snapshot,
    lines: options.loadFile === undefined ? undefined : fileLines(options.loadFile),
    onNotice: notice => printError(`logferry: ${toMessageLine(notice)}`),
  })
  try {
    if (limits !== undefined) asMisuse('--limits', () => service.license.load(limits))
    for (const fault of options.faults) asMisuse('--fault', () => service.startFault(fault))
    return await untilEnd(service, options)
  } finally {
    await service.close('the dev service was stopped')
    const unsaved = (await snapshot?.close()) ?? 0
    if (unsaved > 0) complain(`--save: ${counted(unsaved, 'event was', 'events were')} not saved`)
  }
}

async function openSnapshot(path: string): Promise<SnapshotFile> {
  try {
    return await SnapshotFile.open(path, complain)
  } catch (error) {
    throw new FileTrouble('--save', 'written', error)
  }
}

/** Serves until the program has ended, or until the user stops the service. */
async function untilEnd(
  service: DevService,
  { program, keepsRunning, tails, printsJson }: DevOptions,
): Promise<number> {
  const over = new AbortController()
  const tailed = tails ? printArrivals(service, over.signal, printsJson) : undefined
  try {
    if (program !== undefined) return await untilProgramEnds(service, program, keepsRunning)
    const ended = stopped()
    // With --tail, standard output carries only events, so that the user can pipe them.
    const announce = tails ? printError : print
    if (printsJson) printJson({ type: 'listening', ...settingsOf(service), pageUrl: service.pageUrl })
    else announce(welcome(service))
    await ended
    if (printsJson) printJson({ type: 'end', received: service.stored })
    else announce(`\nEvents received: ${service.stored}`)
    return 0
  } finally {
    over.abort()
    await tailed
  }
}

async function untilProgramEnds(
  service: DevService,
  program: readonly string[],
  keepsRunning: boolean,
): Promise<number> {
  // Standard output is the program's.
  printError(`logferry: your logs are at ${service.pageUrl}`)
  const exitCode = await runProgram(program, service, complain)
  const ended = stopped() // from now on, the first signal does not end the process before everything is saved
  if (keepsRunning) {
    complain(`the program has ended with ${exitCode}; its logs stay at ${service.pageUrl} until Ctrl-C`)
    await ended
  }
  complain(`events received: ${service.stored}`)
  return exitCode
}

async function printArrivals(service: DevService, signal: AbortSignal, isJson: boolean): Promise<void> {
  const printEvents = isJson ? printAsJson : printerOf({})
  for await (const { events, forgotten } of service.arrivals(signal)) {
    if (forgotten > 0) complain(`${counted(forgotten, 'event was', 'events were')} forgotten before being printed`)
    for (const _ of printEvents(events)) await whenTaken(signal)
  }
}

function* printAsJson(events: readonly ShownEvent[]): Generator<void> {
  for (const event of events) {
    print(`{"type":"event",${toJsonLine(event, { fields: undefined, hasMeta: true }).slice(1)}`)
  }
  yield
}

function printJson(value: object): void {
  print(escapeJson(JSON.stringify(value)))
}

/** Returns the settings that a program needs, by the names of the options. */
function settingsOf({ url, token, orgId }: Pick<RunningService, 'url' | 'token' | 'orgId'>) {
  return { url, token, dataset: defaultDataset, orgId }
}

/** Runs the program with the dev service that has the port already. */
async function joinService(
  given: Given,
  { host, port, program, printsJson }: DevOptions,
  token: string,
): Promise<number> {
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  const running = await runningService(url, token)
  if (running === undefined) {
    complain(`another program uses port ${port} of ${host}. Choose another port with --port.`)
    return 1
  }
  if (running.token === undefined) {
    complain(
      `a dev service with another token runs at ${url}; give its token with --token, or choose a port with --port`,
    )
    return 1
  }
  const unheard = optionOfService(given)
  if (unheard !== undefined) {
    complain(
      `a dev service runs at ${url} already, and --${unheard} does not change it; stop it, or choose a port with --port`,
    )
    return 1
  }
  if (program === undefined) {
    complain(`a dev service runs at ${url} already`)
    if (printsJson) printJson({ type: 'running', ...settingsOf(running) })
    return 0
  }
  complain(`your logs are at ${url}, where a dev service runs already`)
  return runProgram(program, { url, token: running.token, orgId: running.orgId }, complain)
}

function stopped(): Promise<unknown> {
  return Promise.race([stopBySignal(), outputEnded()])
}

function welcome({ url, pageUrl, token, orgId }: DevService): string {
  return `See your logs at ${pageUrl}

Programs that use logferry ship here with:

  export LOGFERRY_URL=${url}
  export LOGFERRY_TOKEN=${token}
  export LOGFERRY_DATASET=${defaultDataset}
  export LOGFERRY_ORG_ID=${orgId}

Other programs that use OpenTelemetry:

  export OTEL_EXPORTER_OTLP_ENDPOINT=${url}
  export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf

In a terminal: logferry tail --url ${url}
For coding agents: logferry mcp --url ${url}

Press Ctrl-C to stop.
`
}

function optionsOf(given: Given): DevOptions {
  try {
    return devOptions(given)
  } catch (error) {
    throw error instanceof InvalidOption ? new Misuse(error.message) : error
  }
}

async function limitsIn(path: string): Promise<unknown> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new Misuse(`--limits: the file ${fileTrouble('read', error as NodeJS.ErrnoException)}`)
  }
  try {
    return JSON.parse(withoutByteOrderMark(text))
  } catch {
    throw new Misuse(
      '--limits: the file must have a JSON object with fields of the license, such as {"maxFields": 256}',
    )
  }
}

function asMisuse(option: string, run: () => void): void {
  try {
    run()
  } catch (error) {
    throw error instanceof FaultMistake ? new Misuse(`${option}: ${error.message}`) : error
  }
}

function complain(message: string): void {
  printError(`logferry: ${toMessageLine(message)}`)
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error
}
