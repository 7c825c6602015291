import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'
import { core, environmentFor, run, upTo, winston } from '../exit/running.ts'
import { numbersIn } from '../support/emulated.ts'
import { allOnce, tally } from '../support/laws.ts'
import { surroundings } from '../support/surroundings.ts'

describe.concurrent('scenario 16: the process ends in good order', () => {
  it.each([
    ['at the natural end of the event loop', `${winston()} log(0, 1000)`],
    ['at the natural end, while the service is slow', `${core()} log(0, 1000); setTimeout(() => log(1000), 20)`],
    ['after logger.end()', `${winston()} log(0, 1000); logger.end()`],
    ["after logger.end() and 'finish'", `${winston()} log(0, 1000); logger.on('finish', () => process.exit()).end()`],
    ['after logger.close()', `${winston()} log(0, 1000); logger.close()`],
    ['after close()', `${core()} log(0, 1000); await shipper.close(); process.exit()`],
  ])('%s: each event is delivered once, and the process ends at once', async (_, source) => {
    const { code, stderr, numbers, ms } = await run(source)
    expect([code, stderr]).toEqual([0, ''])
    expect(numbers.length).toBeGreaterThanOrEqual(1000)
    expect(tally(numbers, numbers.length)).toEqual(allOnce)
    expect(ms).toBeLessThan(5000)
  })

  it.each(['SIGTERM', 'SIGINT'] as const)('%s: delivered, and the process dies of the signal', async name => {
    await using emulator = await startEmulator()
    emulator.faults.latencyMs = 200
    const source = `${core('maxBatchAgeMs: 60_000')}
      log(0, 1000); console.log('ready'); setInterval(() => {}, 1000)`
    const env = { ...surroundings(), ...environmentFor(emulator) }
    const child = spawn(process.execPath, ['--input-type=module', '--eval', source], { env })
    const closed = once(child, 'close')
    await once(child.stdout, 'data')
    child.kill(name)
    expect(await closed).toEqual([null, name])
    expect(numbersIn(emulator)).toEqual(upTo(1000))
  })
})
