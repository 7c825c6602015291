import { describe, expect, it } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'
import { core, environmentFor, run, winston } from '../exit/running.ts'
import { runScript } from '../support/run-script.ts'

const shaping = `
  context: () => ({ request_id: 'r-1' }),
  transform: ({ secret, ...event }) => (event.n === 1 ? undefined : event),
  sample: event => (event.n === 2 ? 0 : 1),
  minSeverity: 'info',
`

describe.each([
  ['the core', core(shaping), "shipper.ship({ level, n, secret: 'x' })"],
  ['Winston', winston(shaping), "logger.log(level, 'm', { n, secret: 'x' })"],
])('at the end of the process, %s', (_, source, call) => {
  it.each([
    ['process.exit()', 'all(); process.exit()'],
    ["a listener of 'exit'", "process.on('exit', all)"],
    ['an uncaught error', "all(); throw new Error('boom')"],
  ])('ships shaped events: %s', async (_, end) => {
    await using emulator = await startEmulator()
    const program = `
      ${source}
      shipper.on('dropped', ({ reason, count }) => console.log(reason, count))
      const call = (level, n) => ${call}
      const all = () => {
        for (let n = 0; n < 4; n++) call('info', n)
        call('debug', 4)
      }
      ${end}
    `
    const { stdout } = await runScript(program, { ...environmentFor(emulator), NODE_NO_WARNINGS: '1' })
    expect(emulator.events('d').map(({ n, request_id, secret }) => [n, request_id, secret])).toEqual([
      [0, 'r-1', undefined],
      [3, 'r-1', undefined],
    ])
    expect(stdout.trim().split('\n')).toEqual(['transform 1', 'sample 1'])
  })
})

it('a temporary minimum severity does not keep the process alive', async () => {
  const { code, ms } = await run(`${core()} shipper.setMinSeverity('debug', { forMs: 600_000 })`)
  expect(code).toBe(0)
  expect(ms).toBeLessThan(10_000)
})
