import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { describe, expect, it, vi } from 'vitest'
import { Compression } from '../../src/delivery/compression.ts'
import { Compressors, compressNow } from '../../src/delivery/compressors.ts'
import { type Compressed, codecs, encodings } from '../../src/http/encodings.ts'
import { randomFrom } from '../support/random.ts'

const compressors = new Compressors()
compressors.join()
const random = randomFrom(1)
const noise = Buffer.from(Array.from({ length: 16_400 }, () => random() * 256))
/** The first bytes of a zstd frame. */
const magic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

describe.each([
  ['in the thread pool', (bytes: Buffer) => compressors.compress(bytes, 'zstd')],
  ['at the end of the process', async (bytes: Buffer) => compressNow(bytes, 'zstd')],
])('a body compressed with zstd, %s', (_, zstd) => {
  it('is one frame, even if the frame just fills the buffer that Node compresses into', async () => {
    const lengths: number[] = []
    for (let size = 16_350; size < 16_400; size++) {
      const bytes = noise.subarray(0, size)
      const compressed = await zstd(bytes)
      expect(zstdDecompressSync(compressed).equals(bytes)).toBe(true)
      expect(compressed.lastIndexOf(magic)).toBe(0)
      lengths.push(compressed.length)
    }
    expect(lengths).toContain(16_384)
  })
  it('does not retain the larger buffer that Node compressed it into', async () => {
    const compressed = await zstd(Buffer.alloc(1_000_000, noise))
    expect(compressed.length).toBeLessThan(50_000)
    expect(compressed.buffer.byteLength).toBeLessThan(100_000)
  })
})

/** Decompression by other code than the codecs under test. Every encoding needs a function here. */
const decompressSync: Readonly<Record<Compressed, (bytes: Buffer) => Buffer>> = {
  zstd: zstdDecompressSync,
  gzip: gunzipSync,
}
const compressing = encodings.filter(encoding => encoding !== 'none')

describe.each(compressing)('bodies compressed with %s, one after another and side by side', encoding => {
  it('are each complete', async () => {
    const decompress = decompressSync[encoding]
    const bodies = Array.from({ length: 60 }, (_, i) => {
      const bytes = i % 3 === 0 ? noise.subarray(0, random() * noise.length) : Buffer.alloc(random() * 700_000, noise)
      return Buffer.concat([Buffer.from(`body ${i}`), bytes])
    })
    for (let first = 0; first < bodies.length; first += 20) {
      const some = bodies.slice(first, first + 20)
      const compressed = await Promise.all(some.map(bytes => compressors.compress(bytes, encoding)))
      for (const [i, bytes] of some.entries()) {
        expect(decompress(compressed[i] as Buffer).equals(bytes)).toBe(true)
      }
    }
  })
  it('take four streams at most, each of which holds a megabyte or two', async () => {
    const createStream = vi.spyOn(codecs[encoding], 'createStream')
    const several = new Compressors()
    several.join()
    for (let round = 0; round < 2; round++) {
      const bodies = Array.from({ length: 40 }, (_, i) => Buffer.alloc(100_000 + i, noise))
      const compressed = await Promise.all(bodies.map(bytes => several.compress(bytes, encoding)))
      expect(compressed.map(bytes => decompressSync[encoding](bytes).length)).toEqual(
        bodies.map(({ length }) => length),
      )
    }
    expect(createStream).toHaveBeenCalledTimes(4)
    createStream.mockRestore()
  })
  it('leave no stream behind when the last user has left, even during a compression', async () => {
    const some = new Compressors()
    const streams: { readonly destroyed: boolean }[] = []
    const { createStream } = codecs[encoding]
    const creation = vi.spyOn(codecs[encoding], 'createStream').mockImplementation((...given) => {
      const frames = createStream(...given)
      streams.push(frames.stream)
      return frames
    })
    const compressTwo = () => Promise.all([noise, noise].map(bytes => some.compress(bytes, encoding)))
    some.join()
    some.join()
    await compressTwo()
    some.leave()
    await compressTwo()
    expect(streams.map(({ destroyed }) => destroyed)).toEqual([false, false])
    some.leave()
    expect(streams.map(({ destroyed }) => destroyed)).toEqual([true, true])
    some.join()
    const compression = compressTwo()
    some.leave()
    await compression
    creation.mockRestore()
    expect(streams.map(({ destroyed }) => destroyed)).toEqual([true, true, true, true])
  })
  it('are the same bytes when they are compressed at the end of the process', () => {
    expect(decompressSync[encoding](compressNow(noise, encoding)).equals(noise)).toBe(true)
  })
})

describe('a compression that the service refuses', () => {
  it('gives way to the next one in the list, down to none', () => {
    const compression = new Compression(encodings[0])
    const used = encodings.map(() => {
      const { encoding } = compression
      compression.stepDown(encoding, 0)
      return encoding
    })
    expect([...used, compression.encoding]).toEqual([...encodings, 'none'])
  })

  it('is tried again after a minute, however many requests in flight were refused with it, and then more rarely', () => {
    const compression = new Compression('zstd')
    for (let request = 0; request < 8; request++) compression.stepDown('zstd', 0)
    const triedAtSeconds: number[] = []
    for (let seconds = 1; seconds < 500; seconds++) {
      if (compression.encodingFor(5000, seconds * 1000) !== 'zstd') continue
      triedAtSeconds.push(seconds)
      compression.stepDown('zstd', seconds * 1000)
    }
    expect(triedAtSeconds).toEqual([60, 180, 420])
  })
})
