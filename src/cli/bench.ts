import type { ShipperOptions } from '../index.ts'
import { counted } from '../text/counted.ts'
import { escapeJson } from '../text/escape-json.ts'
import { toShortLine } from '../text/short-line.ts'
import { bestSize, MiB, type Proposal, propose, shownMs } from './bench-proposal.ts'
import { benchEvent, type Trial, tryOut } from './bench-trial.ts'
import { type Command, type Given, Misuse } from './command.ts'
import { asMisuse } from './option-remedies.ts'
import { print, printError } from './print.ts'
import { datasetOption, serviceOf, serviceOptions } from './service.ts'
import { inCommandWords } from './warning-words.ts'

const sizesTried = [MiB / 4, MiB, 4 * MiB]
/** Number of connections in the trials that compare batch sizes. */
const usualConnections = 4
const connectionsTried = [1, 2, 8]
/**
 * Size of the warm-up, as a part of one trial. It runs first and does not count, because V8 compiles the code
 * meanwhile.
 */
const warmUp = 0.5
/** With fewer requests in a trial, its speed is mostly chance. */
const enoughRequests = 8
const trialCount = sizesTried.length + connectionsTried.length + warmUp

export const command: Command = {
  description: `Measures how fast the service accepts events, with several batch sizes and numbers of connections, and
proposes options. It SENDS EVENTS to the dataset: name a dataset that is meant for this. The events have the message
'logferry bench'.

Takes its options from the environment, as an application does: LOGFERRY_URL, LOGFERRY_TOKEN, LOGFERRY_DATASET.

Exits with 0 if there is a proposal, with 1 if nothing was delivered.`,
  options: {
    ...serviceOptions,
    ...datasetOption,
    events: {
      value: 'number',
      description: 'maximum number of events to send, at least 1000 (default: 200000, about 100 MB before compression)',
    },
    seconds: { value: 'number', description: 'maximum time, at least 1 (default: 60)' },
    json: { description: 'print the trials and the proposal as JSON, and the progress to standard error' },
  },
  outlivesReader: true,
  async run(given) {
    const events = numberOf(given, 'events', 200_000, { min: 1000, max: 1e9 })
    const seconds = numberOf(given, 'seconds', 60, { min: 1, max: 1e6 }) // eleven days
    const options: ShipperOptions = { ...serviceOf(given), dataset: given.dataset as string | undefined }
    const perTrial = { events: Math.floor((events - 1) / trialCount), timeoutMs: (seconds * 1000) / trialCount }
    const attempt = (maxBatchBytes: number, maxConcurrentRequests: number) =>
      tryOut(options, { maxBatchBytes, maxConcurrentRequests, ...perTrial })

    const first = await reached(options)
    if (typeof first === 'string') return complain(first)
    // With --json, standard output carries only the result.
    const tell = given.json === true ? printError : print
    announce(given, { events, seconds, tell })
    const { events: warmUpEvents, timeoutMs } = perTrial
    const warming = { events: Math.floor(warmUpEvents * warmUp), timeoutMs: timeoutMs * warmUp }
    await tryOut(options, { maxBatchBytes: MiB, maxConcurrentRequests: usualConnections, ...warming })
    const sizes: Trial[] = []
    for (const size of sizesTried) {
      const trial = await attempt(size, usualConnections)
      sizes.push(trial)
      tell(rowOf(trial))
    }
    const size = bestSize(sizes)
    if (size === undefined) return complain('Nothing was delivered.', sizes)
    const connections: Trial[] = [size]
    for (const count of connectionsTried) {
      const trial = await attempt(size.maxBatchBytes, count)
      connections.push(trial)
      tell(rowOf(trial))
    }
    const eventBytes = size.bytesPerSecond / size.eventsPerSecond
    const proposal = propose(sizes, connections, eventBytes)
    if (proposal === undefined) return complain('Nothing was delivered.', connections)
    const trials = [...sizes, ...connections.slice(1)]
    const fewest = Math.min(...trials.map(({ requests }) => requests))
    if (given.json === true) {
      const isUncertain = fewest < enoughRequests
      print(escapeJson(JSON.stringify({ trials, proposal, isUncertain }, null, 2)))
      return 0
    }
    print(`\n${snippet(proposal)}`)
    if (fewest < enoughRequests) print(`\n${doubt(fewest)}`)
    return 0
  },
}

/**
 * Sends one event, so that a mistake shows up before the command sends thousands. Returns the problem, or `undefined`
 * if the event was delivered.
 *
 * @throws Misuse if an option is invalid
 */
async function reached(options: ShipperOptions): Promise<string | undefined> {
  try {
    const settings = { maxBatchBytes: MiB, maxConcurrentRequests: 1, events: 1, timeoutMs: 10_000 }
    const { delivered, warnings } = await tryOut(options, settings)
    if (delivered === 1) return undefined
    return (
      warnings.map(({ message }) => inCommandWords(message, command.options)).join('\n') ||
      'No answer within 10 s. Check the address of the service and the network.'
    )
  } catch (error) {
    throw asMisuse(error)
  }
}

interface Announced {
  readonly events: number
  readonly seconds: number
  readonly tell: (text: string) => void
}

function announce({ url, dataset }: Given, { events, seconds, tell }: Announced): void {
  const { LOGFERRY_URL, LOGFERRY_DATASET } = process.env
  const megabytes = Math.round((events * (JSON.stringify(benchEvent(1000)).length + 50)) / 1e6)
  tell(
    `Sending up to ${shown(events)} events (about ${shown(megabytes)} MB before compression) to dataset ` +
      `'${toShortLine(String(dataset ?? LOGFERRY_DATASET))}' at ${toShortLine(String(url ?? LOGFERRY_URL))}, for ${seconds} s at most. Ctrl-C stops it.\n`,
  )
  tell(columns(['batches', 'connections', 'events/s', 'MB/s', 'answer', 'requests', 'sent again', '']))
}

function rowOf(trial: Trial): string {
  const notes: string[] = []
  if (trial.takesBytes !== undefined) notes.push(`413: accepts ${sizeOf(trial.takesBytes)}`)
  if (trial.requestsPerSecond !== undefined) notes.push(`limited to ${trial.requestsPerSecond.toFixed(1)} requests/s`)
  if (trial.lost > 0) notes.push(`${counted(trial.lost, 'event')} not delivered in time`)
  return columns([
    sizeOf(trial.maxBatchBytes),
    String(trial.maxConcurrentRequests),
    shown(trial.eventsPerSecond),
    (trial.bytesPerSecond / 1e6).toFixed(1),
    shownMs(trial.answerMs),
    shown(trial.requests),
    shown(trial.retries),
    notes.join(', '),
  ])
}

const widths = [8, 11, 9, 7, 8, 8, 10]

function columns(cells: readonly string[]): string {
  return cells
    .map((cell, index) => cell.padStart(widths[index] ?? 0))
    .join('  ')
    .trimEnd()
}

function doubt(requests: number): string {
  const what = requests === 1 ? 'a single request' : `${requests} requests`
  return `This proposal is uncertain: at least one row stands for ${what} only. Send more events (--events) for a better one.`
}

function snippet({ reasons, ...options }: Proposal): string {
  const lines = Object.entries(options).map(([name, value]) => {
    const reason = reasons[name as keyof typeof reasons]
    return `  // ${reason}\n  ${name}: ${shown(value).replaceAll(',', '_')},`
  })
  return `Proposed options for this service, measured from this machine:\n\n{\n${lines.join('\n')}\n}`
}

function sizeOf(bytes: number): string {
  return bytes >= MiB ? `${Math.round((bytes / MiB) * 10) / 10} MiB` : `${Math.round(bytes / 1024)} KiB`
}

function shown(value: number): string {
  return Math.round(value).toLocaleString('en')
}

function numberOf(given: Given, name: string, fallback: number, { min, max }: { min: number; max: number }): number {
  const text = given[name]
  if (text === undefined) return fallback
  const value = /^\d+$/.test(String(text)) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  const range = value > max ? `at most ${max}` : `at least ${min}`
  throw new Misuse(`--${name} must be a whole number, ${range}, not '${text}'`)
}

function complain(what: string, trials: readonly Trial[] = []): 1 {
  const warnings = new Set(
    trials.flatMap(trial => trial.warnings.map(({ message }) => inCommandWords(message, command.options))),
  )
  printError([what, ...warnings, "Run 'logferry check' with the same settings to find the reason."].join('\n'))
  return 1
}
