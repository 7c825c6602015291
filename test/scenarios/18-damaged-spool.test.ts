/** test/spool/segment-format.test.ts damages every byte, one by one. Here whole processes read damaged files. */
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'
import { createShipper } from '../../src/index.ts'
import { numbersIn } from '../support/emulated.ts'
import { randomFrom } from '../support/random.ts'
import { leaveInSpool } from '../support/spool-left.ts'

const count = 200

/** A kind of damage to the bytes of a file at an offset, and the maximum number of events that it may cost. */
const damages = {
  flipped: (bytes: Buffer, at: number): readonly [Buffer, number] => {
    bytes[at] = (bytes[at] as number) ^ 0x55
    return [bytes, 1]
  },
  zeroed: (bytes: Buffer, at: number): readonly [Buffer, number] => [bytes.fill(0, at, at + 8), 2],
  cut: (bytes: Buffer, at: number): readonly [Buffer, number] => [bytes.subarray(0, at), count],
}

describe('scenario 18: a spool with flipped, cut or zeroed bytes', () => {
  it.each(Object.entries(damages))(
    '%s, at twenty places: only damaged events are lost, and counted',
    async (how, damage) => {
      await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-18-'))
      const left = join(directory.path, 'left')
      await using emulator = await startEmulator()
      await leaveInSpool(left, count, emulator)
      const random = randomFrom(18)
      for (let place = 0; place < 20; place++) {
        const spool = join(directory.path, String(place))
        cpSync(left, spool, { recursive: true })
        const [name] = readdirSync(spool) as [string]
        const segment = readdirSync(join(spool, name)).find(file => file.endsWith('.segment')) as string
        const path = join(spool, name, segment)
        const bytes = readFileSync(path)
        const at = Math.floor(random() * bytes.length)
        const [damaged, maxLost] = damage(bytes, at)
        writeFileSync(path, damaged)
        emulator.clear()
        const shipper = createShipper({
          baseUrl: emulator.url,
          token: emulator.token,
          dataset: 'd',
          spool: { directory: spool },
        })
        shipper.on('warning', () => {})
        const { complete } = await shipper.close()
        const numbers = numbersIn(emulator)
        const { accepted, delivered, dropped, pending, drops } = shipper.stats()
        expect({ complete, pending }).toEqual({ complete: true, pending: 0 })
        expect(new Set(numbers).size).toBe(numbers.length)
        expect(numbers.every(n => n >= 0 && n < count)).toBe(true)
        expect(numbers.length).toBeGreaterThanOrEqual(count - maxLost)
        expect([delivered, accepted]).toEqual([numbers.length, delivered + dropped])
        if (how !== 'cut') expect(dropped).toBe(count - numbers.length)
        if (dropped > 0) expect(drops).toEqual({ 'spool-damaged': { unknown: dropped } })
        expect(readdirSync(spool)).toEqual([])
      }
    },
  )
})
