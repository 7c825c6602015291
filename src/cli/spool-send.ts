import { join } from 'node:path'
import { createShipper, type Shipper } from '../index.ts'
import { deadLettersName } from '../spool/file-names.ts'
import type { SpoolContents } from '../spool/inspect.ts'
import { toShortLine } from '../text/short-line.ts'
import { clearInterval, clearTimeout, maxTimeoutMs, monotonicMs, setInterval, setTimeout } from '../time.ts'
import { type Command, type Given, Misuse } from './command.ts'
import { print, printError } from './print.ts'
import { serviceOf, serviceOptions } from './service.ts'
import {
  counted,
  directoryOf,
  foreign,
  inUse,
  leftBehind,
  lookInto,
  maxPathChars,
  spoolDirectory,
  sum,
} from './spool.ts'

/** Maximum time without progress before the command gives up, in seconds, if --timeout is not given. */
const patienceSeconds = 60

const maxTimeoutSeconds = 1_000_000
const progressEveryMs = 5000

export const command: Command = {
  description: `Delivers the events that ended processes left in a spool, each to its own dataset. Events of running
processes, and events for another service or organization, are left alone. Press Ctrl-C to stop: the rest stays in the
spool, and events that were in flight may arrive twice.

Takes its options from the environment, as an application does: LOGFERRY_URL, LOGFERRY_TOKEN, LOGFERRY_ORG_ID.

Exits with 0 if nothing is left behind, with 1 if something is. Events that the service refuses are moved to
rejected.ndjson in the spool.`,
  ...spoolDirectory,
  options: {
    ...spoolDirectory.options,
    ...serviceOptions,
    timeout: {
      value: 'seconds',
      description: `maximum time (default: until nothing was delivered for ${patienceSeconds} s)`,
    },
  },
  async run(given) {
    const directory = directoryOf(given)
    const timeoutMs = timeoutMsOf(given)
    const before = await lookInto(directory)
    if (before === undefined) return 1
    if (leftBehind(before).length === 0) {
      print(`Nothing is left behind in ${toShortLine(directory, undefined, maxPathChars)}.`)
      return reportOthers(before) ? 1 : 0
    }
    const shipper = shipperOf(given, directory)
    if (shipper === undefined) return 1
    const { destination } = shipper
    const ending = await deliver(shipper, sum(leftBehind(before, destination)).events, timeoutMs)
    reportCounts(shipper, directory)
    const after = await lookInto(directory)
    if (after === undefined) return 1
    const isSomethingLeft = reportRest(after, destination, ending)
    const isForElsewhere = reportElsewhere(after, destination)
    return reportOthers(after) || isSomethingLeft || isForElsewhere ? 1 : 0
  },
}

function timeoutMsOf({ timeout }: Given): number | undefined {
  if (timeout === undefined) return undefined
  const seconds = /^\d+(\.\d+)?$/.test(String(timeout)) ? Number(timeout) : Number.NaN
  if (seconds > 0 && seconds <= maxTimeoutSeconds) return seconds * 1000
  throw new Misuse(`--timeout must be a number of seconds above 0, up to ${maxTimeoutSeconds}, not '${timeout}'`)
}

/**
 * Creates the shipper with the options of an application, but without a size limit that could drop events, and with
 * short retry delays. Prints the reason and returns `undefined` if an option is invalid.
 */
function shipperOf(given: Given, directory: string): Shipper | undefined {
  try {
    return createShipper({
      ...serviceOf(given),
      dataset: 'none', // required but unused: the command logs nothing, and each spooled event has its own dataset
      spool: { directory, maxBytes: Number.MAX_SAFE_INTEGER },
      maxRetryDelayMs: 5000,
      exitTimeoutMs: 0, // the command closes the shipper before the process ends
    })
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'LOGFERRY_INVALID_OPTION') throw error
    printError((error as Error).message)
    return undefined
  }
}

/** The reason why delivery ended. */
type Ending = 'done' | 'the command was stopped' | 'the time was up' | 'the service did not accept them'

/** Delivers the orphaned events, prints progress and warnings to standard error, and closes the shipper. */
async function deliver(shipper: Shipper, total: number, timeoutMs: number | undefined): Promise<Ending> {
  const { promise: brokenOff, resolve: breakOff } = Promise.withResolvers<Ending>()
  let isOver = false
  shipper.on('warning', ({ code, message }) => {
    if (!isOver || code === 'LOGFERRY_DROPPED') printError(message)
  })
  const stop = () => breakOff('the command was stopped')
  process.once('SIGINT', stop).once('SIGTERM', stop)
  const deadline = setTimeout(() => breakOff('the time was up'), timeoutMs ?? maxTimeoutMs)
  const isStuck = standstill(shipper, timeoutMs === undefined ? patienceSeconds * 1000 : maxTimeoutMs)
  const progress = setInterval(() => {
    printError(`Delivered so far: ${counted(shipper.stats().delivered, 'event')}`)
    if (isStuck()) breakOff('the service did not accept them')
  }, progressEveryMs)
  printError(`Delivering ${counted(total, 'event')} …`)
  const ending = await Promise.race([shipper.flush({ timeoutMs: maxTimeoutMs }).then(() => 'done' as const), brokenOff])
  isOver = true // the report says what stays in the spool
  clearTimeout(deadline)
  clearInterval(progress)
  await shipper.close({ timeoutMs: 0 })
  process.off('SIGINT', stop).off('SIGTERM', stop)
  return ending
}

/** Returns a function that returns true if no event was read or settled for `forMs` milliseconds. */
function standstill(shipper: Shipper, forMs: number): () => boolean {
  let [last, sinceMs] = [0, monotonicMs()]
  return () => {
    const { accepted, delivered, dropped } = shipper.stats()
    const now = accepted + delivered + dropped
    if (now !== last) [last, sinceMs] = [now, monotonicMs()]
    return monotonicMs() - sinceMs >= forMs
  }
}

function reportCounts(shipper: Shipper, directory: string): void {
  const { delivered, dropped, drops } = shipper.stats()
  const droppedAs = (reason: keyof typeof drops) =>
    Object.values(drops[reason] ?? {}).reduce((total, count) => total + count, 0)
  const refused = droppedAs('rejected') + droppedAs('too-large')
  const lost = dropped - refused
  print(`Delivered: ${counted(delivered, 'event')}`)
  if (refused > 0)
    print(
      `Refused by the service: ${counted(refused, 'event')}, now in ${toShortLine(join(directory, deadLettersName), undefined, maxPathChars)}`,
    )
  if (lost > 0) print(`Lost: ${counted(lost, 'event')}; the warnings say why`)
}

/** Prints the number of orphaned events that remain, and the reason. Returns true if any remain. */
function reportRest(contents: SpoolContents, destination: string | undefined, ending: Ending): boolean {
  const rest = leftBehind(contents, destination)
  const { length } = rest
  if (length === 0) return false
  const { events } = sum(rest)
  const why = ending === 'done' ? 'they were left meanwhile or could not be read' : ending
  print(`Still there: ${counted(events, 'event')} in ${counted(length, 'directory', 'directories')}, because ${why}`)
  return true
}

/** Prints the orphaned events for other services. Returns true if there are any. */
function reportElsewhere(contents: SpoolContents, destination: string | undefined): boolean {
  const ours = leftBehind(contents, destination)
  const elsewhere = leftBehind(contents).filter(process => !ours.includes(process))
  for (const { name, events, destination } of elsewhere) {
    print(
      `Left alone: ${counted(events, 'event')} for another service (${toShortLine(String(destination))}), in ${name}`,
    )
  }
  return elsewhere.length > 0
}

/**
 * Prints the events of running processes, and the number of directories of other users. Returns true if there are
 * directories of other users; running processes deliver their own events.
 */
function reportOthers(contents: SpoolContents): boolean {
  const { events } = sum(inUse(contents))
  if (events > 0) print(`Left alone: ${counted(events, 'event')} of running processes`)
  const others = foreign(contents)
  if (others !== undefined) print(others)
  return others !== undefined
}
