/** `logferry bench`: the events that it sends, its output, and how its proposal follows from the service. */
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { bestSize, propose } from '../src/cli/bench-proposal.ts'
import type { Trial } from '../src/cli/bench-trial.ts'
import { type Emulator, startEmulator } from '../src/emulator.ts'
import { createShipper, type ShipperOptions } from '../src/index.ts'
import { runNode } from './support/run-script.ts'

const main = fileURLToPath(new URL('../dist/cli/main.cjs', import.meta.url))

describe.concurrent('logferry bench', () => {
  it('announces how many events it sends where, and sends no more', async () => {
    await using emulator = await startEmulator()
    const { code, stdout, stderr } = await bench(emulator, ['--events', '12000', '--seconds', '15'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const announced = /^Sending up to 12,000 events \(about \d+ MB before compression\) to dataset 'bench' at (\S+),/
    expect(announced.exec(stdout)?.[1]).toBe(emulator.url)
    expect(emulator.eventCount('bench')).toBeLessThanOrEqual(12_000)
    expect(emulator.eventCount('bench')).toBeGreaterThan(11_000)
    expect(stdout.match(/^ +(256 KiB|1 MiB|4 MiB) +\d/gm)).toHaveLength(6)
  })

  it('uses plain http to a host other than loopback only with --allow-insecure', async () => {
    await using emulator = await startEmulator()
    const url = emulator.url.replace('127.0.0.1', '[::ffff:127.0.0.1]')
    const args = ['--url', url, '--events', '1000', '--seconds', '5']
    expect(await bench(emulator, args)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/must be an https:.*--allow-insecure/),
    })
    expect(await bench(emulator, [...args, '--allow-insecure'])).toMatchObject({ code: 0, stderr: '' })
  })

  it('proposes options that a shipper accepts', async () => {
    await using emulator = await startEmulator()
    const { stdout } = await bench(emulator, ['--events', '6000', '--seconds', '15'])
    const shipper = createShipper({ baseUrl: emulator.url, token: emulator.token, dataset: 'd', ...proposed(stdout) })
    expect(Object.keys(proposed(stdout))).toEqual([
      'maxBatchBytes',
      'maxBatchEvents',
      'maxBatchAgeMs',
      'maxConcurrentRequests',
    ])
    expect(stdout).toMatch(/at least one row stands for (a single request|\d requests) only/)
    await shipper.close()
  })

  it('prints its result as JSON with --json, and its progress to standard error', async () => {
    await using emulator = await startEmulator()
    const { code, stdout, stderr } = await bench(emulator, ['--events', '6000', '--seconds', '15', '--json'])
    expect(code).toBe(0)
    const { trials, proposal, isUncertain } = JSON.parse(stdout)
    expect(trials).toHaveLength(6)
    expect(trials[0]).toMatchObject({ maxBatchBytes: 262_144, delivered: expect.any(Number) })
    expect(proposal).toMatchObject({ maxBatchBytes: expect.any(Number), reasons: expect.any(Object) })
    expect(isUncertain).toBe(true)
    expect(stderr).toMatch(/^Sending up to 6,000 events/)
  })

  it('measures how long the service takes to answer', async () => {
    await using emulator = await startEmulator()
    emulator.faults.latencyMs = 300
    const { stdout } = await bench(emulator, ['--events', '6000', '--seconds', '15'])
    const answersMs = [...stdout.matchAll(/iB .* (\d+) ms /g)].map(([, ms]) => Number(ms))
    expect(answersMs).toHaveLength(6)
    for (const ms of answersMs) expect(ms).toBeGreaterThan(200)
  })

  it('does not propose batches that the service refuses as too large', async () => {
    await using emulator = await startEmulator()
    emulator.faults.maxBytes(300_000)
    const { code, stdout } = await bench(emulator, ['--events', '30000', '--seconds', '15'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/1 MiB .*413: accepts \d+ KiB/)
    expect(proposed(stdout).maxBatchBytes).toBeLessThanOrEqual(300_000)
    expect(stdout).toMatch(/\/\/ the service answers larger requests with 413\n {2}maxBatchBytes/)
  })

  it('proposes few requests if the service limits their rate', async () => {
    await using emulator = await startEmulator({
      enforce: { apiRateLimitPerSecond: true },
      org: { license: { apiRateLimitPerSecond: 5 } },
    })
    const { stdout } = await bench(emulator, ['--events', '12000', '--seconds', '12'])
    expect(stdout).toMatch(/limited to \d\.\d requests\/s/)
    expect(proposed(stdout).maxBatchAgeMs).toBeGreaterThanOrEqual(400)
  })

  it('stops and names the reason if the service does not accept the first event', async () => {
    await using emulator = await startEmulator()
    const { code, stdout, stderr } = await bench(emulator, [], { LOGFERRY_TOKEN: 'wrong' })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/the service answers 403.*Check that the token/)
    expect(emulator.stats().stored).toBe(0)
  })

  it.each([
    [['--events', '10'], "--events must be a whole number, at least 1000, not '10'"],
    [['--seconds', 'x'], "--seconds must be a whole number, at least 1, not 'x'"],
    [['--seconds', '1.5'], "--seconds must be a whole number, at least 1, not '1.5'"],
    [['--seconds', '100000000'], "--seconds must be a whole number, at most 1000000, not '100000000'"],
  ])('exits with 2 for %j', async (args, problem) => {
    await using emulator = await startEmulator()
    const { code, stdout, stderr } = await bench(emulator, args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(problem)
  })

  it('exits with 2 for an invalid option of the shipper, with the error of the shipper', async () => {
    await using emulator = await startEmulator()
    const { code, stderr } = await bench(emulator, ['--url', 'ftp://host'])
    expect(code).toBe(2)
    expect(stderr).toMatch(/option `baseUrl` must be an http\(s\) address/)
  })
})

describe('the proposal', () => {
  const KiB = 1024

  it('is the smallest size that is about as fast as the fastest', () => {
    expect(bestSize([trial(256 * KiB, 4, 950), trial(1024 * KiB, 4, 1000)])?.maxBatchBytes).toBe(256 * KiB)
    expect(bestSize([trial(256 * KiB, 4, 500), trial(1024 * KiB, 4, 1000)])?.maxBatchBytes).toBe(1024 * KiB)
  })

  it('is not a size that was refused as too large, however fast its halves were', () => {
    const refused = { ...trial(1024 * KiB, 4, 2000), takesBytes: 400 * KiB }
    expect(bestSize([trial(256 * KiB, 4, 1000), refused])?.maxBatchBytes).toBe(256 * KiB)
    expect(propose([refused], [refused], 500)?.maxBatchBytes).toBe(400 * KiB)
  })

  it('is the fewest connections that are about as fast as the fastest', () => {
    const size = trial(1024 * KiB, 4, 1000)
    const more = propose([size], [trial(1024 * KiB, 1, 500), size, trial(1024 * KiB, 8, 1050)], 500)
    expect(more?.maxConcurrentRequests).toBe(4)
    const fewer = propose([size], [trial(1024 * KiB, 1, 990), size], 500)
    expect(fewer?.maxConcurrentRequests).toBe(1)
  })

  it.each([
    ['answers at once', 1, 5, undefined, 250],
    ['slow answers, one connection', 1, 2000, undefined, 4000],
    ['slow answers, four connections', 4, 2000, undefined, 1000],
    ['a limited rate', 4, 5, 2, 1000],
    ['a very limited rate', 4, 5, 0.01, 60_000],
  ])('has a batch age that fits %s', (_, connections, answerMs, requestsPerSecond, expected) => {
    const measured = { ...trial(1024 * KiB, connections, 1000), answerMs, requestsPerSecond }
    expect(propose([measured], [measured], 500)?.maxBatchAgeMs).toBe(expected)
  })

  it('is missing if nothing was delivered', () => {
    const nothing = { ...trial(1024 * KiB, 4, 0), delivered: 0 }
    expect(bestSize([nothing])).toBeUndefined()
    expect(propose([nothing], [nothing], 500)).toBeUndefined()
  })
})

function trial(maxBatchBytes: number, maxConcurrentRequests: number, eventsPerSecond: number): Trial {
  return {
    maxBatchBytes,
    maxConcurrentRequests,
    eventsPerSecond,
    bytesPerSecond: 500 * eventsPerSecond,
    answerMs: 5,
    requests: 10,
    retries: 0,
    delivered: 1000,
    lost: 0,
    takesBytes: undefined,
    requestsPerSecond: undefined,
    warnings: [],
  }
}

function proposed(stdout: string): ShipperOptions & { maxBatchBytes: number; maxBatchAgeMs: number } {
  const lines = stdout.matchAll(/^ {2}(\w+): ([\d_]+),$/gm)
  return Object.fromEntries([...lines].map(([, name, value = '']) => [name, Number(value.replaceAll('_', ''))]))
}

function bench(emulator: Emulator, args: readonly string[], changes: Record<string, string> = {}) {
  const environment = { LOGFERRY_URL: emulator.url, LOGFERRY_TOKEN: emulator.token, LOGFERRY_DATASET: 'bench' }
  return runNode([main, 'bench', ...args], { ...environment, ...changes })
}
