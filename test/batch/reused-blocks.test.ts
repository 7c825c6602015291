import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { startShipping } from '../support/shipping.ts'

const atOnce = 30
const rounds = 4

it('the memory of small batches that were delivered serves the next ones, also if memory was nearly full', async () => {
  await using shipping = await startShipping()
  const shipper = shipping.ship({ dataset: ({ n }) => `d${n}`, maxBatchBytes: 16_384, maxBufferedBytes: 131_072 })
  using allocate = vi.spyOn(Buffer, 'allocUnsafeSlow')
  for (let n = 0; n < rounds * atOnce; n++) {
    shipper.ship({ level: 'error', n })
    if (n % atOnce === atOnce - 1) expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
  }
  expect(shipper.stats()).toMatchObject({ delivered: rounds * atOnce, dropped: 0 })
  expect(allocate.mock.calls.filter(([bytes]) => bytes === 4096).length).toBe(atOnce)
})

it('lines that go to the spool while memory is short take no memory of their own', async () => {
  const root = mkdtempSync(join(tmpdir(), 'logferry-reused-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  await using shipping = await startShipping()
  shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
  const spool = { directory: join(root, 'spool') }
  const shipper = shipping.ship({
    spool,
    dataset: ({ n }) => `d${Number(n) % 40}`,
    maxBatchBytes: 16_384,
    maxBufferedBytes: 131_072,
  })
  using allocate = vi.spyOn(Buffer, 'allocUnsafe')
  using allocateSlow = vi.spyOn(Buffer, 'allocUnsafeSlow')
  for (let n = 0; n < 200; n++) shipper.ship({ level: 'info', n, text: 'x'.repeat(6000) })
  expect(shipper.stats()).toMatchObject({ pending: 200, dropped: 0 })
  const calls = [...allocate.mock.calls, ...allocateSlow.mock.calls]
  expect(calls.filter(([bytes]) => bytes > 4096).length).toBeLessThan(50) // blocks of batches in memory
})
