import { createShipper, type Shipper } from '../index.ts'
import { counted } from '../text/counted.ts'
import { escapeJson } from '../text/escape-json.ts'
import { monotonicMs } from '../time.ts'
import type { Command } from './command.ts'
import { createWith } from './option-remedies.ts'
import { deliver, standstillSeconds } from './pipe/deliver.ts'
import { Input } from './pipe/input.ts'
import { LineSplitter } from './pipe/line-splitter.ts'
import { LinesToEvents } from './pipe/lines-to-events.ts'
import {
  durabilities,
  formats,
  minBufferBytes,
  type PipeOptions,
  pipeOptionsOf,
  readOnSeconds,
  severities,
} from './pipe/pipe-options.ts'
import { isComplete, reportInJson, reportOf } from './pipe/report.ts'
import { ShipLines } from './pipe/ship-lines.ts'
import { Stop } from './pipe/stop.ts'
import { Tee } from './pipe/tee.ts'
import { print } from './print.ts'
import { Progress } from './progress.ts'
import { datasetOption, serviceOptions } from './service.ts'
import { inCommandWords } from './warning-words.ts'

/** Maximum bytes of a line. Of a longer line, the beginning is shipped. */
const maxLineBytes = 16_777_216

export const command: Command = {
  description: `Ships the lines of standard input: each JSON object as an event, each other line as the message of an event.
Takes its options from the environment, as an application does: LOGFERRY_URL, LOGFERRY_TOKEN, LOGFERRY_DATASET.

While the memory for waiting events is full, the input is not read, so that nothing is dropped. After SIGINT, SIGTERM or
SIGHUP, it is read until it ends, for --read-on seconds at most, and delivered. A second signal stops at once.

Exits with 0 if everything has arrived, with 1 if not; the summary at the end says what has not.`,
  excessRemedy: 'The lines come from standard input: node app.js | logferry pipe, or logferry pipe < app.log.',
  options: {
    ...serviceOptions,
    ...datasetOption,
    tee: { description: 'write the input to standard output, unchanged' },
    json: { description: 'print the summary as JSON to standard output' },
    format: {
      value: 'format',
      choices: formats,
      description:
        'auto (default): JSON objects are events, other lines are texts; json: the same, and exit with 1 if a line is not ' +
        'a JSON object; text: every line is a text',
    },
    level: { value: 'level', choices: severities, description: 'level of events that have none' },
    'min-severity': { value: 'level', choices: severities, description: 'ship no events below this level' },
    field: { value: 'name=value', isMultiple: true, description: 'field that each event gets, unless it has it' },
    'time-field': {
      value: 'name',
      description: 'field with the time of an event (default: @timestamp, timestamp, time, ts and others)',
    },
    redact: { value: 'path', isMultiple: true, description: "value that is never shipped, such as '**.password'" },
    'redact-text': { value: 'regex', isMultiple: true, description: 'part of a text that is never shipped' },
    'buffer-bytes': {
      value: 'number',
      description:
        `memory for waiting events, at least ${minBufferBytes} (default: an eighth of the memory, 32 MiB to 512 MiB; ` +
        '32 MiB with --spool)',
    },
    spool: {
      value: 'directory',
      completes: 'directories',
      description: 'let events wait on disk that cannot be delivered yet, also for the next process',
    },
    'spool-max-bytes': {
      value: 'number',
      description: 'maximum size of the spool, at least twice --buffer-bytes (default: 1 GiB)',
    },
    durability: {
      value: 'where',
      choices: durabilities,
      description:
        'disk (default with --spool): each event is in the spool before its line is passed on; memory: events go to the ' +
        'spool only if memory is short',
    },
    'read-on': {
      value: 'seconds',
      description: `maximum time for which the input is read after a signal (default: ${readOnSeconds})`,
    },
    timeout: {
      value: 'seconds',
      description: `maximum time for delivery after the end of the input (default: until nothing was delivered for ${standstillSeconds} s)`,
    },
  },
  outlivesReader: true,
  async run(given) {
    const options = pipeOptionsOf(given)
    return await pipe(
      createWith(() => createShipper(options.shipper)),
      options,
    )
  },
}

/** Ships standard input to its end, and returns the exit code. */
async function pipe(shipper: Shipper, options: PipeOptions): Promise<number> {
  const { lines, isTee, isJson, isOnDisk, spoolDirectory, readOnMs, timeoutMs } = options
  const { stdin, stdout, stderr } = process
  const startedAtMs = monotonicMs()
  const splitter = new LineSplitter(maxLineBytes)
  const events = new LinesToEvents(lines)
  const tee = isTee ? new Tee(stdout) : undefined
  const isShown = stderr.isTTY && !stdin.isTTY && !(isTee && stdout.isTTY)
  const progress = new Progress(isShown, () => statusOf(shipper, shipping, events.lines, startedAtMs))
  const stop = new Stop({
    readOnMs,
    onFirst: () => progress.say('Reading and delivering the rest. A second signal stops at once.'),
  })
  const shipping = new ShipLines({
    shipper,
    events,
    signal: stop.reading,
    onPaused: () =>
      progress.say(`Reading is paused: ${counted(shipper.stats().pending, 'event')} must be delivered first.`),
  })
  try {
    shipper.on('warning', ({ message }) => progress.say(inCommandWords(message, command.options)))

    if (stdin.isTTY) progress.say('Reading from the terminal. Press Ctrl-D at the end.')
    const input = new Input(stdin, stop.reading)
    for await (const chunk of input.chunks()) {
      for (const text of splitter.push(chunk)) await shipping.ship(text)
      if (tee === undefined || (isOnDisk && !(await shipping.whenSafe()))) continue
      await tee.write(chunk, stop.reading)
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
      inputError: input.error,
      teeError: tee?.failure,
      isTeeDeserted: tee?.isDeserted === true,
    }
    if (isJson) print(escapeJson(reportInJson(result)))
    else progress.say(reportOf(result))
    if (tee !== undefined && !(await tee.whenTaken(stop.reading))) {
      progress.say(`The reader of standard output did not take the last ${counted(tee.unread, 'byte')}.`)
      process.exit(1) // The rest of the copy would keep the process alive.
    }
    return isComplete(result) ? 0 : 1
  } finally {
    stop.end()
    progress.end()
  }
}

/** Returns the progress, on one line. */
function statusOf(shipper: Shipper, { isPaused }: ShipLines, lines: number, startedAtMs: number): string {
  const { delivered, pending } = shipper.stats()
  const perSecond = Math.round((lines * 1000) / Math.max(monotonicMs() - startedAtMs, 1))
  const paused = isPaused ? ', reading is paused' : ''
  return `${counted(lines, 'line')} read (${perSecond.toLocaleString('en')}/s), ${delivered.toLocaleString('en')} delivered, ${pending.toLocaleString('en')} waiting${paused}`
}
