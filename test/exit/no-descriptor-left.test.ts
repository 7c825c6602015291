/** A process that has opened as many files as it may keeps its events all the same. */
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Emulator, startEmulator } from '../../src/emulator.ts'
import { type Ended, runProgram } from '../support/run-script.ts'
import { core, deliverRest, enoughMs, environmentFor, inOrder, upTo } from './running.ts'

const isWindows = process.platform === 'win32'

const openAll = `
  import { closeSync, openSync, readFileSync } from 'node:fs'
  /** Opens as many files as the process may still open. */
  function takeAllDescriptors() {
    const taken = []
    for (;;) try { taken.push(openSync('/dev/null')) } catch { return taken }
  }`

/** Runs a program that may have 64 files open. */
function runWithFewFiles(source: string, emulator: Emulator): Promise<Ended> {
  const limited = ['-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath, '--input-type=module', '--eval', source]
  return runProgram('sh', limited, environmentFor(emulator))
}

/**
 * Runs a program that may have 64 files open while the service is down, then delivers the remaining events.
 */
async function endWithFewFiles(options: string, program: string): Promise<{ ended: Ended; numbers: number[] }> {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-few-'))
  await using emulator = await startEmulator()
  const spool = `spool: { directory: ${JSON.stringify(directory.path)} }`
  emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
  const source = `
    ${openAll}
    ${core(`${spool}, exitTimeoutMs: 200, ${options}`)}
    ${program}`
  const ended = await runWithFewFiles(source, emulator)
  emulator.faults.clear()
  await deliverRest(directory.path, emulator)
  const events = emulator.datasets().flatMap(dataset => emulator.events(dataset))
  return { ended, numbers: inOrder(events.map(({ n }) => n as number)) }
}

const toDatasets = (count: number, options = '') => `dataset: event => 'd' + event.n % ${count}, ${options}`

describe.skipIf(isWindows)('a process with a spool that has no free file descriptor', () => {
  it.each([
    ['process.exit()', '', 'takeAllDescriptors(); process.exit()'],
    ['its natural end', '', 'takeAllDescriptors()'],
    ['process.exit(), with 100 datasets', toDatasets(100), 'takeAllDescriptors(); process.exit()'],
    ['process.exit(), with durability disk', `durability: 'disk'`, 'takeAllDescriptors(); process.exit()'],
    [
      'process.exit(), with durability disk and 100 datasets',
      toDatasets(100, `durability: 'disk'`),
      'takeAllDescriptors(); process.exit()',
    ],
  ])('leaves every event to the next process by %s', async (_, options, end) => {
    const { ended, numbers } = await endWithFewFiles(options, `log(0, 1000); ${end}`)
    expect([ended.code, ended.stderr]).toEqual([0, expect.stringContaining('1000 events could not be delivered')])
    expect(ended.stderr).not.toContain('dropped')
    expect(numbers).toEqual(upTo(1000))
  })

  it('has each event on disk when its log call returns, for old and new datasets', async () => {
    const { ended, numbers } = await endWithFewFiles(
      toDatasets(200, `durability: 'disk', maxBatchAgeMs: 60_000`),
      `log(0, 100)
      takeAllDescriptors()
      log(100, 1000)
      console.log(JSON.stringify(shipper.stats().spool.isInTrouble))
      process.kill(process.pid, 'SIGKILL')`,
    )
    expect([ended.signal, ended.stdout]).toEqual(['SIGKILL', 'false\n'])
    expect(numbers).toEqual(upTo(1000))
  })

  it('keeps writing to disk while no descriptor is freed, batch after batch', async () => {
    const { ended, numbers } = await endWithFewFiles(
      toDatasets(20, `durability: 'disk', maxBatchAgeMs: 1`),
      `takeAllDescriptors()
      for (let n = 0; n < 1000; n += 50) {
        log(n, n + 50)
        await new Promise(resolve => setTimeout(resolve, 5))
      }
      console.log(JSON.stringify(shipper.stats().spool.isInTrouble))
      process.kill(process.pid, 'SIGKILL')`,
    )
    expect([ended.signal, ended.stdout]).toEqual(['SIGKILL', 'false\n'])
    expect(numbers).toEqual(upTo(1000))
  })
})

describe.skipIf(isWindows)('a process without a spool that has no free file descriptor', () => {
  it('ends at once by process.exit(), and says why its events are dropped', async () => {
    await using emulator = await startEmulator()
    const source = `${openAll} ${core('exitTimeoutMs: 30_000')} log(0, 1000); takeAllDescriptors(); process.exit(3)`
    const { code, ms, stderr } = await runWithFewFiles(source, emulator)
    expect([code, stderr]).toEqual([
      3,
      expect.stringMatching(/1000 events could not be delivered .*EMFILE.* need 7 free file descriptors.*ulimit -n/),
    ])
    expect(ms).toBeLessThan(20_000)
  })

  it.each([
    ['dropped', 6, 0],
    ['delivered', 7, 1000],
  ])('has its events %s by process.exit() with %i free ones', async (_, free, arrived) => {
    await using emulator = await startEmulator()
    const source = `${openAll} ${core()} log(0, 1000)
      for (const descriptor of takeAllDescriptors().slice(0, ${free})) closeSync(descriptor)
      process.exit()`
    const { stderr } = await runWithFewFiles(source, emulator)
    expect(stderr.includes('dropped')).toBe(arrived === 0)
    expect(emulator.eventCount('d')).toBe(arrived)
  })

  it('keeps its events until a descriptor is free, and says what it lacks', async () => {
    await using emulator = await startEmulator()
    const source = `${openAll} ${core('maxRetryDelayMs: 100')} log(0, 1000)
      const taken = takeAllDescriptors()
      const alive = setInterval(() => {}, 1000)
      shipper.on('warning', warning => {
        for (const descriptor of taken) closeSync(descriptor)
        clearInterval(alive)
        console.log(warning.message)
      })`
    const { stdout } = await runWithFewFiles(source, emulator)
    expect(stdout).toMatch(/^logferry: no connection can be made \(.*EMFILE.*ulimit -n\)\.\n$/)
    expect(inOrder(emulator.events('d').map(({ n }) => n as number))).toEqual(upTo(1000))
  })
})

describe.skipIf(isWindows)('a process with more shippers than files that it may open', () => {
  it('delivers the events of each at its natural end: a shipper that is done closes its connections', async () => {
    await using emulator = await startEmulator()
    const source = `
      import { createShipper } from 'logferry'
      const shippers = Array.from({ length: 120 }, () => createShipper({ exitTimeoutMs: ${enoughMs} }))
      for (const [n, shipper] of shippers.entries()) shipper.on('warning', () => {}).ship({ n })`
    expect((await runWithFewFiles(source, emulator)).code).toBe(0)
    expect(inOrder(emulator.events('d').map(({ n }) => n as number))).toEqual(upTo(120))
  })
})

describe.skipIf(isWindows)("durability: 'disk' with hundreds of datasets", () => {
  it('leaves the application its file descriptors, and has every event on disk', async () => {
    const { ended, numbers } = await endWithFewFiles(
      toDatasets(300, `durability: 'disk', maxBatchAgeMs: 60_000`),
      `const before = takeAllDescriptors()
      for (const descriptor of before) closeSync(descriptor)
      for (let n = 0; n < 3000; n++) log(n * 7919 % 3000)
      const after = takeAllDescriptors()
      console.log(JSON.stringify([before.length - after.length, shipper.stats().spool.isInTrouble]))
      process.kill(process.pid, 'SIGKILL')`,
    )
    const [taken, isInTrouble] = JSON.parse(ended.stdout)
    expect(taken).toBeLessThanOrEqual(14) // and two that the process held before
    expect(isInTrouble).toBe(false)
    expect(numbers).toEqual(upTo(3000))
  })
})
