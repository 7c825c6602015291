import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startShipping } from '../support/shipping.ts'
import { upAfterClose } from '../support/up-after-close.ts'

let directory: string
beforeEach(() => {
  directory = join(fs.mkdtempSync(join(tmpdir(), 'logferry-small-')), 'spool')
})
afterEach(() => fs.rmSync(join(directory, '..'), { recursive: true }))

const datasets = 100
const rounds = 30

function segments(): number {
  return fs.readdirSync(directory, { recursive: true }).filter(name => String(name).endsWith('.segment')).length
}

describe.each(['memory', 'disk'] as const)('a long outage with many quiet datasets (durability %s)', durability => {
  const options = () => ({
    spool: { directory },
    durability,
    dataset: ({ n }: Record<string, unknown>) => `d${Number(n) % datasets}`,
    maxBatchBytes: 65_536,
    maxBufferedBytes: 524_288, // half a block of 4 KiB for each dataset
    maxRetryDelayMs: 50,
  })

  async function outage() {
    const shipping = await startShipping()
    shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    const shipper = shipping.ship(options())
    for (let n = 0; n < datasets * rounds; n++) {
      shipper.ship({ level: 'info', n, pad: 'x'.repeat(300) })
      if (n % 500 === 0) await sleep(1)
    }
    return { shipping, shipper }
  }

  it('creates about two files per dataset, however long it lasts, and every event arrives once', async () => {
    const { shipping, shipper } = await outage()
    await using _ = shipping
    expect(segments()).toBeLessThan(3 * datasets)
    shipping.emulator.faults.clear()
    expect(await shipper.flush({ timeoutMs: 20_000 })).toEqual({ complete: true, pending: 0 })
    for (let d = 0; d < datasets; d++) {
      const numbers = shipping.emulator.events(`d${d}`).map(({ n }) => n as number)
      expect(numbers.toSorted((one, other) => one - other)).toEqual(
        Array.from({ length: rounds }, (_, round) => round * datasets + d),
      )
    }
    expect(shipper.stats()).toMatchObject({ accepted: datasets * rounds, dropped: 0, bufferedBytes: 0 })
    expect(segments()).toBe(0)
  })

  it('leaves every event to the next process at close()', async () => {
    const { shipping, shipper } = await outage()
    await using _ = shipping
    await shipper.close({ timeoutMs: 0 })
    expect(shipper.stats()).toMatchObject({ pending: datasets * rounds, dropped: 0 })
    await upAfterClose(shipping.emulator)
    const heir = shipping.ship(options())
    expect(await heir.flush({ timeoutMs: 20_000 })).toEqual({ complete: true, pending: 0 })
    expect(heir.stats()).toMatchObject({ accepted: datasets * rounds, delivered: datasets * rounds })
  })
})

it('each event dropped because of maxBytes is counted, even if it follows others into the store', async () => {
  await using shipping = await startShipping()
  shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
  const shipper = shipping.ship({
    spool: { directory, maxBytes: 400_000 },
    dataset: ({ n }) => `d${Number(n) % 20}`,
    maxBatchBytes: 16_384,
    maxBufferedBytes: 131_072,
    maxRetryDelayMs: 50,
  })
  for (let n = 0; n < 6000; n++) {
    shipper.ship({ level: 'info', n, pad: 'x'.repeat(300) })
    if (n % 500 === 0) await sleep(1)
  }
  shipping.emulator.faults.clear()
  await shipper.flush({ timeoutMs: 20_000 })
  const { dropped, drops } = shipper.stats()
  expect(drops['spool-full']?.info).toBeGreaterThan(3000)
  const arrived = Array.from({ length: 20 }, (_, d) => shipping.emulator.events(`d${d}`)).flat()
  expect(new Set(arrived.map(({ n }) => n)).size).toBe(6000 - dropped)
  expect(shipper.stats()).toMatchObject({ accepted: 6000, pending: 0, delivered: 6000 - dropped })
})
