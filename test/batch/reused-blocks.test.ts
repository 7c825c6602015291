import { expect, it, vi } from 'vitest'
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
