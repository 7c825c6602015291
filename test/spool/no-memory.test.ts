import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { startShipping } from '../support/shipping.ts'

/** Size of the buffer in which the spool puts records together. */
const bufferBytes = 262_144

it.each(['memory', 'disk'] as const)(
  'with durability %s, events stay in memory while the system has none for the spool, and no file is left behind',
  async durability => {
    const root = mkdtempSync(join(tmpdir(), 'logferry-no-memory-'))
    onTestFinished(() => rmSync(root, { recursive: true }))
    await using shipping = await startShipping()
    shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    const shipper = shipping.ship({
      spool: { directory: join(root, 'spool') },
      durability,
      maxBatchBytes: 16_384,
      maxBufferedBytes: 131_072,
    })
    const { allocUnsafeSlow } = Buffer
    using _ = vi.spyOn(Buffer, 'allocUnsafeSlow').mockImplementation(bytes => {
      if (bytes >= bufferBytes) throw new RangeError('Array buffer allocation failed')
      return allocUnsafeSlow(bytes)
    })
    let logged = 0
    const logTen = async () => {
      for (const end = logged + 10; logged < end; logged++)
        expect(shipper.ship({ level: 'error', n: logged, text: 'x'.repeat(1000) })).toBe(true)
      await new Promise(resolve => setImmediate(resolve)) // batches move between log calls
    }
    while (shipper.stats().spool?.isInTrouble === false) await logTen()
    await logTen()
    expect(shipper.stats()).toMatchObject({ accepted: logged, pending: logged, dropped: 0 })
    expect(shipping.warnings.filter(({ code }) => code === 'LOGFERRY_SPOOL')).toMatchObject([
      { message: expect.stringContaining('cannot be used (ENOMEM)') },
    ])
    shipping.emulator.faults.clear()
    expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    expect(shipper.stats()).toMatchObject({ delivered: logged, dropped: 0, spool: { bytes: 0 } })
  },
)
