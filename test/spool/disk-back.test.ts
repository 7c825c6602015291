import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { startShipping } from '../support/shipping.ts'
import { makeSpool } from '../support/spool-of-test.ts'

const clock = vi.hoisted(() => ({ aheadMs: 0 }))
vi.mock('../../src/time.ts', async original => {
  const time = await original<typeof import('../../src/time.ts')>()
  return { ...time, monotonicMs: () => time.monotonicMs() + clock.aheadMs }
})

it('stats() tells that the disk is in use again with the first event on it, although nothing else was waiting for the disk', async () => {
  using spool = makeSpool()
  await using shipping = await startShipping()
  const directory = join(spool.directory, 'below')
  fs.writeFileSync(directory, '')
  const shipper = shipping.ship({ spool: { directory }, durability: 'disk' })
  shipper.ship({ n: 1 })
  await shipper.flush()
  expect(shipper.stats().spool?.isInTrouble).toBe(true)
  fs.rmSync(directory)
  clock.aheadMs += 60_000
  shipper.ship({ n: 2 })
  expect(fs.readdirSync(directory, { recursive: true }).some(name => String(name).endsWith('.segment'))).toBe(true)
  expect(shipper.stats().spool?.isInTrouble).toBe(false)
})
