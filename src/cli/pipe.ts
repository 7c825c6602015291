import { createShipper, type Shipper } from '../index.ts'
import { monotonicMs } from '../time.ts'
import type { Command } from './command.ts'
import { chunksOf } from './pipe/chunks-of.ts'
import { deliver, patienceSeconds } from './pipe/deliver.ts'
import { LineSplitter } from './pipe/line-splitter.ts'
import { LinesToEvents } from './pipe/lines-to-events.ts'
import { minBufferBytes, type PipeOptions, pipeOptionsOf } from './pipe/pipe-options.ts'
import { Progress } from './pipe/progress.ts'
import { isComplete, reportOf } from './pipe/report.ts'
import { ShipLines } from './pipe/ship-lines.ts'
import { Stop } from './pipe/stop.ts'
import { Tee } from './pipe/tee.ts'
import { printError } from './print.ts'
import { serviceOptions } from './service.ts'
import { counted } from './spool.ts'

/** Maximum time for which the input is read on after a signal, in seconds. */
const readOnSeconds = 10
/** Maximum bytes of a line. Of a longer line, the beginning is shipped. */
const maxLineBytes = 16_777_216

const help = `Usage: <program> | logferry pipe [options]

Ships the lines of standard input: each JSON object as an event, each other line as the message of an event.
Takes its options from the environment, as an application does: LOGFERRY_URL, LOGFERRY_TOKEN, LOGFERRY_DATASET.

While the memory for waiting events is full, the input is not read, so that nothing is dropped. After SIGINT, SIGTERM or
SIGHUP, it is read until it ends, for ${readOnSeconds} seconds at most, and delivered. A second signal stops at once.
Exits with 0 if everything has arrived, with 1 if not; the summary on standard error says what has not.

Options:
  --dataset <name>       dataset to send to, in place of LOGFERRY_DATASET
  --tee                  write the input to standard output, unchanged
  --format <format>      auto: JSON objects are events, other lines are texts (default)
                         json: the same, and exit with 1 if a line is not a JSON object
                         text: every line is a text
  --level <level>        level of events that have none: trace, debug, info, warn, error or fatal
  --min-severity <level> ship no events below this level
  --field <name=value>   field that each event gets, unless it has it; can be given several times
  --time-field <name>    field with the time of an event (default: @timestamp, timestamp, time, ts and others)
  --redact <path>        value that is never shipped, such as '**.password'; can be given several times
  --redact-text <regex>  part of a text that is never shipped; can be given several times
  --buffer-bytes <n>     memory for waiting events, at least ${minBufferBytes}
                         (default: an eighth of the memory, 32 MiB to 512 MiB; 32 MiB with --spool)
  --spool <directory>    let events wait on disk that cannot be delivered yet, also for the next process
  --spool-max-bytes <n>  maximum size of the spool, at least twice --buffer-bytes (default: 1 GiB)
  --durability <where>   disk: each event is in the spool before its line is passed on (default with --spool)
                         memory: events go to the spool only if memory is short
  --timeout <seconds>    maximum time for delivery after the end of the input
                         (default: until nothing was delivered for ${patienceSeconds} s)
  --url <address>        base address of the service, in place of LOGFERRY_URL
  --allow-insecure       allow plain http to another host: the token can be read on the way
  --help                 show this`

export const command: Command = {
  help,
  options: {
    ...serviceOptions,
    dataset: { type: 'string' },
    tee: { type: 'boolean' },
    format: { type: 'string' },
    level: { type: 'string' },
    'min-severity': { type: 'string' },
    field: { type: 'string', multiple: true },
    'time-field': { type: 'string' },
    redact: { type: 'string', multiple: true },
    'redact-text': { type: 'string', multiple: true },
    'buffer-bytes': { type: 'string' },
    spool: { type: 'string' },
    'spool-max-bytes': { type: 'string' },
    durability: { type: 'string' },
    timeout: { type: 'string' },
  },
  async run(given) {
    const options = pipeOptionsOf(given)
    const shipper = shipperOf(options)
    return shipper === undefined ? 1 : await pipe(shipper, options)
  },
}

/** Prints the reason and returns `undefined` if an option is invalid. */
function shipperOf(options: PipeOptions): Shipper | undefined {
  try {
    return createShipper(options.shipper)
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'LOGFERRY_INVALID_OPTION') throw error
    printError((error as Error).message)
    return undefined
  }
}

/** Ships standard input to its end, and returns the exit code. */
async function pipe(shipper: Shipper, { lines, isTee, isOnDisk, spoolDirectory, timeoutMs }: PipeOptions) {
  const { stdin, stdout, stderr } = process
  const startedAtMs = monotonicMs()
  const splitter = new LineSplitter(maxLineBytes)
  const events = new LinesToEvents(lines)
  const tee = isTee ? new Tee(stdout) : undefined
  const isShown = stderr.isTTY && !stdin.isTTY && !(isTee && stdout.isTTY) && process.env.TERM !== 'dumb'
  using progress = new Progress(isShown, () => statusOf(shipper, shipping, events.lines, startedAtMs))
  using stop = new Stop({
    readOnMs: readOnSeconds * 1000,
    onFirst: () => progress.say('Reading and delivering the rest. A second signal stops at once.'),
  })
  const shipping = new ShipLines({
    shipper,
    events,
    signal: stop.reading,
    onPaused: () =>
      progress.say(`Reading is paused: ${counted(shipper.stats().pending, 'event')} must be delivered first.`),
  })
  stderr.on('error', () => {}) // without its reader, delivery goes on
  shipper.on('warning', ({ message }) => progress.say(message))

  let inputError: NodeJS.ErrnoException | undefined
  try {
    for await (const chunk of chunksOf(stdin, stop.reading)) {
      for (const text of splitter.push(chunk)) await shipping.ship(text)
      if (tee === undefined) continue
      if (isOnDisk) await shipping.whenSafe()
      await tee.write(chunk, stop.reading)
    }
  } catch (error) {
    inputError = error as NodeJS.ErrnoException
  }
  for (const text of splitter.end()) await shipping.ship(text)
  const ending = await deliver(shipper, timeoutMs, stop.all)
  const result = {
    stats: shipper.stats(),
    ending,
    lines: events.lines,
    blank: events.blank,
    belowMinimum: shipping.belowMinimum,
    notJson: events.notJson,
    firstNotJson: events.firstNotJson,
    tooLong: splitter.tooLong,
    maxLineBytes,
    spoolDirectory,
    inputError,
    teeError: tee?.failure,
    isTeeDeserted: tee?.isDeserted === true,
  }
  progress.say(reportOf(result))
  return isComplete(result) ? 0 : 1
}

/** Returns the progress, on one line. */
function statusOf(shipper: Shipper, { isPaused }: ShipLines, lines: number, startedAtMs: number): string {
  const { delivered, pending } = shipper.stats()
  const perSecond = Math.round((lines * 1000) / Math.max(monotonicMs() - startedAtMs, 1))
  const paused = isPaused ? ', reading is paused' : ''
  return `${counted(lines, 'line')} read (${perSecond.toLocaleString('en')}/s), ${delivered.toLocaleString('en')} delivered, ${pending.toLocaleString('en')} waiting${paused}`
}
