/**
 * A spool: while the service is down one process logs and exits, and another is killed. The next one delivers what they
 * have left, and nothing is lost.
 *
 *     npx node examples/spool.ts
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmulator } from 'logferry/emulator'

// The service, in this process. With an account of your own: leave it out, and set LOGFERRY_URL and LOGFERRY_TOKEN.
const emulator = await startEmulator()
const directory = await mkdtemp(join(tmpdir(), 'logferry-spool-'))

/** A program that places three orders. */
function shop(options: string, end: string): string[] {
  const program = `
    import { LogferryTransport } from 'logferry/winston'
    import winston from 'winston'
    const spool = { directory: ${JSON.stringify(directory)} }
    const logger = winston.createLogger({ transports: [new LogferryTransport({ dataset: 'shop', spool, ${options} })] })
    logger.on('warn', ({ message }) => console.log(message))
    for (const order of [1, 2, 3]) logger.info('order placed', { pid: process.pid, order })
    ${end}
  `
  return ['--input-type=module', '--eval', program]
}

emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
console.log('The service is down. A process logs three events, and exits:')
await run(shop('', 'process.exit()'))

console.log('\nAnother process writes each event to disk before its log call returns, and is killed right after.')
await run(shop(`durability: 'disk'`, `process.kill(process.pid, 'SIGKILL')`))

console.log('\nThe events that wait (npx logferry spool ls …):')
await run(['dist/cli/main.cjs', 'spool', 'ls', directory])

emulator.faults.clear()
console.log('\nThe service is back. A third process logs three events, and ends:')
await run(shop('', ''))

console.log(`${emulator.eventCount('shop')} events arrived:`)
for (const { _time, message, order, pid } of emulator.events('shop'))
  console.log(' ', _time, message, order, `(${pid})`)
await emulator.close()
await rm(directory, { recursive: true })

/** Runs Node with these arguments, and waits for its end. */
async function run(args: string[]): Promise<void> {
  const child = spawn(process.execPath, args, {
    cwd: new URL('..', import.meta.url),
    env: { ...process.env, LOGFERRY_URL: emulator.url, LOGFERRY_TOKEN: emulator.token },
    stdio: 'inherit',
  })
  await once(child, 'close')
}
