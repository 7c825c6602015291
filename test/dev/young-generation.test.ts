import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const module = new URL('../../src/cli/young-generation.ts', import.meta.url).href
const MiB = 1_048_576

it('the young generation of the dev service stays small, however much it parses', async () => {
  const [bounded, free] = await Promise.all([
    youngBytesOf(`(await import('${module}')).boundYoungGeneration()`),
    youngBytesOf(''),
  ])
  expect(bounded).toBeLessThanOrEqual(32 * MiB)
  expect(free).toBeGreaterThan(32 * MiB)
})

/** Returns the size of the young generation of a process that keeps much of what it makes for a while. */
async function youngBytesOf(setUp: string): Promise<number> {
  const code = `${setUp}
    const { getHeapSpaceStatistics } = await import('node:v8')
    const kept = []
    for (let turn = 0; turn < 300; turn++) {
      for (let n = 0; n < 5000; n++) kept[(turn * 5000 + n) % 30_000] = { n, text: 'x' + n, list: [n] }
      await new Promise(setImmediate)
    }
    console.log(getHeapSpaceStatistics().find(space => space.space_name === 'new_space').space_size)`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code])
  return Number(stdout)
}
