import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startShipping } from '../support/shipping.ts'

it('events in the spool are delivered although the service refuses all of the oldest, and nothing else is logged', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'logferry-refused-first-'))
  try {
    await using shipping = await startShipping()
    const { faults } = shipping.emulator
    const options = { spool: { directory: join(directory, 'spool') }, maxBatchBytes: 16_384 }
    const text = 'x'.repeat(7000) // a file for two events
    faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    const before = shipping.ship(options)
    for (let n = 0; n < 60; n++) before.ship({ level: 'info', n, text })
    await before.close({ timeoutMs: 0 })
    faults.clear()
    faults.rejectRequests(({ n }) => Number(n) < 20)
    const after = shipping.ship(options)
    await expect.poll(() => after.stats().delivered, { timeout: 10_000 }).toBe(40)
    // A set: the service may still have taken a request that `close` left, once it was well.
    const numbers = new Set(shipping.emulator.events('d').map(({ n }) => Number(n)))
    expect([...numbers].sort((one, other) => one - other)).toEqual(Array.from({ length: 40 }, (_, n) => n + 20))
    after.ship({ level: 'info', n: 60 }) // evidence against all that were refused before
    await expect.poll(() => after.stats().pending, { timeout: 5000 }).toBe(0)
    expect(after.stats()).toMatchObject({ delivered: 41, drops: { rejected: { info: 20 } } })
  } finally {
    rmSync(directory, { recursive: true })
  }
})
