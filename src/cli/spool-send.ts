import type { Shipper } from '../index.ts'
import { createShipperOfSpool } from '../shipper/shipper.ts'
import { destinationIn, isFor, nameOfDestination } from '../spool/file-names.ts'
import type { ProcessContents, SpoolContents } from '../spool/inspect.ts'
import { counted } from '../text/counted.ts'
import { toShortLine } from '../text/short-line.ts'
import { monotonicMs } from '../time.ts'
import { type Command, type Given, Misuse } from './command.ts'
import { isConfirmed } from './confirm.ts'
import type { Ending } from './ending.ts'
import { createWith } from './option-remedies.ts'
import { print, printError } from './print.ts'
import { serviceOf, serviceOptions } from './service.ts'
import {
  directoryOf,
  hasUnreadable,
  leftBehind,
  lookInto,
  maxPathChars,
  spoolDirectory,
  sum,
  timeoutMsOf,
} from './spool.ts'
import { deliver, timeoutOption } from './spool-delivery.ts'
import {
  addCounts,
  countsOf,
  isSomethingLeft,
  nothingDelivered,
  othersInWords,
  type SendReport,
  sendReportInJson,
  sendReportInWords,
} from './spool-send-report.ts'

export const command: Command = {
  description: `Delivers the events that ended processes left in a spool, each to its own dataset. Events of running
processes, and events for another service or organization, are left alone. Press Ctrl-C to stop: the rest stays in the
spool, and events that were in flight may arrive twice.

Takes its options from the environment, as an application does: LOGFERRY_URL, LOGFERRY_TOKEN, LOGFERRY_ORG_ID.

With --to, events go to the given address, whichever service they are for, and so leave the spool. Events that are not
delivered stay there for their own service.

Exits with 0 if nothing is left behind, with 1 if something is, or if events are lost. Events that the service refuses are
moved to rejected.ndjson in the spool.`,
  ...spoolDirectory,
  options: {
    ...spoolDirectory.options,
    ...serviceOptions,
    to: { value: 'address', description: 'send the events for every service to this address; asks first' },
    yes: { description: 'with --to: do not ask' },
    timeout: timeoutOption,
    json: { description: 'print the result as JSON' },
  },
  outlivesReader: true,
  async run(given) {
    const directory = directoryOf(given)
    const timeoutMs = timeoutMsOf(given)
    checkTarget(given)
    const before = await lookInto(directory)
    if (before === undefined) return 1
    const show = given.json === true ? sendReportInJson : sendReportInWords
    if (leftBehind(before).length === 0) {
      const report = {
        directory,
        counts: nothingDelivered,
        ending: 'done',
        rest: [],
        elsewhere: [],
        after: before,
      } as const
      print(given.json === true ? sendReportInJson(report) : nothingLeft(report))
      return isSomethingLeft(report) ? 1 : 0
    }
    const report = await (given.to === undefined ? sendOwn : sendAll)(given, directory, before, timeoutMs)
    if (report === undefined) return 1
    print(show(report))
    return isSomethingLeft(report) ? 1 : 0
  },
}

function nothingLeft({ directory, after }: SendReport): string {
  const path = toShortLine(directory, undefined, maxPathChars)
  const nothing = hasUnreadable(after) ? 'Nothing that can be read is left behind' : 'Nothing is left behind'
  return [`${nothing} in ${path}.`, ...othersInWords(after)].join('\n')
}

/** Sends the events for the service that the options name. */
async function sendOwn(
  given: Given,
  directory: string,
  before: SpoolContents,
  timeoutMs: number | undefined,
): Promise<SendReport | undefined> {
  const shipper = shipperOf(given, directory)
  const { destination } = shipper
  const ending = await deliver(shipper, sum(leftBehind(before, destination)).events, timeoutMs)
  const after = await lookInto(directory)
  if (after === undefined) return undefined
  const rest = leftBehind(after, destination)
  const elsewhere = leftBehind(after).filter(process => !rest.includes(process))
  return { directory, counts: countsOf(shipper), ending, rest, elsewhere, after }
}

/**
 * Sends the events for every service to the address of `--to`, one destination after the other. Each shipper takes the
 * place of one for that destination, so that the events that stay remain addressed to their own service, whenever this
 * process ends.
 */
async function sendAll(
  given: Given,
  directory: string,
  before: SpoolContents,
  timeoutMs: number | undefined,
): Promise<SendReport | undefined> {
  const processes = leftBehind(before)
  if (!(await isConfirmed(questionAbout(processes, String(given.to)), given))) {
    printError('Nothing was sent.')
    return undefined
  }
  const startedAtMs = monotonicMs()
  let ending: Ending = 'done'
  let counts = nothingDelivered
  for (const destination of destinationsOf(processes)) {
    const shipper = shipperOf(given, directory, destination)
    const ours = leftBehind(before, shipper.destination)
    const leftMs = timeoutMs === undefined ? undefined : Math.max(timeoutMs - (monotonicMs() - startedAtMs), 0)
    ending = await deliver(shipper, sum(ours).events, leftMs)
    counts = addCounts(counts, countsOf(shipper))
    if (ending !== 'done') break
  }
  const after = await lookInto(directory)
  return after && { directory, counts, ending, rest: leftBehind(after), elsewhere: [], after }
}

/** Returns the destinations of directories; `undefined` for those that fit any. */
function destinationsOf(processes: readonly ProcessContents[]): Set<string | undefined> {
  const destinations = new Set<string | undefined>()
  for (const { name } of processes) {
    const destination = destinationIn(name)
    // A name that no version of this package has made is left where it is.
    if (destination === undefined || isFor(nameOfDestination(destination), name)) destinations.add(destination)
  }
  return destinations
}

function questionAbout(processes: readonly ProcessContents[], to: string): string {
  const services = new Set(processes.map(({ destination = 'any service' }) => toShortLine(destination)))
  const named = [...services].slice(0, maxNamed).join(', ')
  const others = services.size > maxNamed ? ` and ${counted(services.size - maxNamed, 'other')}` : ''
  return `Send ${counted(sum(processes).events, 'event')} for ${named}${others} to ${toShortLine(to)} instead?`
}

/** Maximum number of services in the question. */
const maxNamed = 5

/** @throws Misuse */
function checkTarget({ to, url, yes }: Given): void {
  if (to !== undefined && url !== undefined) throw new Misuse('--to and --url exclude each other. Give one of them.')
  if (to === undefined && yes === true) throw new Misuse('--yes has an effect with --to only. Give both.')
  if (to === undefined || URL.canParse(String(to))) return
  throw new Misuse('--to must be the address of a service, such as https://logs.example.com')
}

/**
 * Creates the shipper with the options of an application, but without a size limit that could drop events, and with
 * short retry delays.
 *
 * @param destination the destination of the events, if it is not the service of the options
 * @throws Misuse if an option is invalid
 */
function shipperOf(given: Given, directory: string, destination?: string): Shipper {
  const options = {
    ...serviceOf(given.to === undefined ? given : { ...given, url: given.to }),
    dataset: 'none', // required but unused: the command logs nothing, and each spooled event has its own dataset
    spool: { directory, maxBytes: Number.MAX_SAFE_INTEGER },
    maxRetryDelayMs: 5000,
    exitTimeoutMs: 0, // the command closes the shipper before the process ends
  }
  // No new file of refused events is begun, as it would take the place of one that the report counts.
  const unlimited = { maxRejectedBytes: Number.POSITIVE_INFINITY }
  return createWith(() =>
    createShipperOfSpool(options, destination === undefined ? unlimited : { ...unlimited, destination }),
  )
}
