import { zstdDecompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { compress, compressNow } from '../../src/delivery/compression.ts'
import { randomFrom } from '../support/random.ts'

const random = randomFrom(1)
const noise = Buffer.from(Array.from({ length: 16_400 }, () => random() * 256))
/** With which a frame of zstd begins. */
const magic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

describe.each([
  ['in the thread pool', compress],
  ['at the end of the process', async (bytes: Buffer) => compressNow(bytes, 'zstd')],
])('a body compressed with zstd, %s', (_, zstd) => {
  it('is one frame, also where that just fills the 16 KiB that Node compresses into at a time', async () => {
    const lengths: number[] = []
    for (let size = 16_350; size < 16_400; size++) {
      const bytes = noise.subarray(0, size)
      const compressed = await zstd(bytes, 'zstd')
      expect(zstdDecompressSync(compressed).equals(bytes)).toBe(true)
      expect(compressed.lastIndexOf(magic)).toBe(0)
      lengths.push(compressed.length)
    }
    expect(lengths).toContain(16_384)
  })
})
