/**
 * A program for the command line. Its user reads standard output; the service gets a full account of each run, also of
 * one that fails or is interrupted. Nothing has to be awaited: however the program ends, its events are delivered first.
 *
 *     npx logferry dev -- npm run cli -- cli/orders.csv
 *     npx logferry dev -- npm run cli -- missing.csv
 */
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { program } from 'commander'
import { LogferryTransport } from 'logferry/winston'
import winston from 'winston'

const startedAtMs = performance.now()
const run = { id: randomUUID(), program: 'import-orders' }
const logger = winston.createLogger({
  transports: [new LogferryTransport({ dataset: 'cli', context: () => ({ run }) })],
})

program
  .name('import-orders')
  .argument('<file>', 'orders as CSV: id,total')
  .option('--strict', 'stop at the first malformed line')
  .action(importOrders)
await program.parseAsync()

async function importOrders(file: string, { strict = false }: { strict?: boolean }): Promise<void> {
  logger.info('import begun', { file, strict })
  let imported = 0
  let malformed = 0
  for (const [index, line] of (await readLines(file)).entries()) {
    const [id, total] = line.split(',').map(Number)
    if (Number.isInteger(id) && Number.isFinite(total)) {
      logger.info('order imported', { order: { id, total } })
      imported++
      continue
    }
    logger.warn('line malformed', { line: { number: index + 2, text: line } })
    malformed++
    if (strict) program.error(`line ${index + 2} is malformed: ${line}`)
  }
  logger.info('import ended', { imported, malformed, duration_ms: Math.round(performance.now() - startedAtMs) })
  console.log(`${imported} orders imported, ${malformed} lines malformed`)
  if (malformed > 0) process.exitCode = 1
}

/** Returns the lines of the file without its header. */
async function readLines(file: string): Promise<string[]> {
  try {
    const [, ...lines] = (await readFile(file, 'utf8')).trimEnd().split('\n')
    return lines
  } catch (error) {
    logger.error('file not readable', { error })
    program.error(`${file} cannot be read`) // ends the process at once
  }
}
