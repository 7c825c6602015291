import { createShipper, type Shipper, type Warning } from '../index.ts'
import { toShortLine } from '../text/short-line.ts'
import type { Command, Given } from './command.ts'
import { print, printError } from './print.ts'
import { datasetOption, serviceOf, serviceOptions } from './service.ts'

/** Maximum wait until the service accepts or refuses the event, in milliseconds. */
const timeoutMs = 10_000

export const command: Command = {
  description: `Sends one test event, and reports the result. Exits with 0 if the event was delivered, with 1 if not.

Takes its options from the environment, as an application does: LOGFERRY_URL, LOGFERRY_TOKEN, LOGFERRY_DATASET.`,
  options: { ...serviceOptions, ...datasetOption },
  async run(given) {
    const shipper = shipperOf(given)
    if (shipper === undefined) return 1
    const warnings = await shipOne(shipper)
    const { delivered } = shipper.stats()
    const { LOGFERRY_URL, LOGFERRY_DATASET } = process.env
    const where = `dataset '${shown(given.dataset ?? LOGFERRY_DATASET)}' at ${shown(given.url ?? LOGFERRY_URL)}`
    if (delivered === 1) print(`Delivered to ${where}: one event with the message 'logferry check'.`)
    else printError(`Not delivered to ${where}.`)
    for (const { message } of warnings) printError(`\nAn application would get this warning:\n  ${message}`)
    if (delivered === 0 && warnings.length === 0) printError(`\n${untilTimeout(shipper.lastTrouble)}`)
    return delivered === 1 ? 0 : 1
  },
}

function shown(text: unknown): string {
  return toShortLine(String(text))
}

function untilTimeout(lastTrouble: string | undefined): string {
  const seconds = timeoutMs / 1000
  if (lastTrouble === undefined)
    return `No answer within ${seconds} s. Check the address of the service and the network.`
  return `Not accepted within ${seconds} s. The last answer was ${lastTrouble}.`
}

/**
 * Creates the shipper with the options of an application, but with short retries and timeouts, because the user waits
 * for the result. Prints the reason and returns `undefined` if an option is invalid.
 */
function shipperOf(given: Given): Shipper | undefined {
  try {
    return createShipper({
      ...serviceOf(given),
      dataset: given.dataset as string | undefined,
      maxRetryDelayMs: 100,
      requestTimeoutMs: 5000,
      exitOnSignals: false, // the user does not want to wait any longer
    })
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'LOGFERRY_INVALID_OPTION') throw error
    printError((error as Error).message)
    return undefined
  }
}

/**
 * Ships one event, and waits until it is settled, a warning arrives, or the time is up. Returns the warnings that an
 * application would get.
 */
async function shipOne(shipper: Shipper): Promise<Warning[]> {
  const warnings: Warning[] = []
  const troubled = new Promise<void>(resolve => {
    shipper.on('warning', warning => {
      warnings.push(warning)
      resolve()
    })
  })
  shipper.ship({ level: 'info', message: 'logferry check' })
  await Promise.race([shipper.flush({ timeoutMs }), troubled])
  const soFar = [...warnings]
  await shipper.close({ timeoutMs: 0 }) // drops a pending event, and would add a warning about the drop
  return soFar
}
