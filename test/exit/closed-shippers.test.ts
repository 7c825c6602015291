/** A test runner may load the package again for each test file, and every copy shares the process. */
import { expect, it } from 'vitest'
import { core, run, upTo } from './running.ts'

const listeners = `() => process.eventNames().flatMap(name => process.listeners(name)).length`

it('no listener of the process is left once the last of several shippers is closed', async () => {
  const { stdout, numbers } = await run(`
    const count = ${listeners}
    const before = count()
    ${core()}
    const other = createShipper()
    log(0, 10)
    await shipper.close()
    await shipper.close()
    console.log(count() > before)
    other.ship({ n: 10 })
    await other.close()
    console.log(count() - before)
  `)
  expect([stdout, numbers]).toEqual(['true\n0\n', upTo(11)])
})

it.each([
  ['before process.exit()', 'log(1); process.exit()'],
  ["in a handler of 'exit'", `process.on('exit', () => log(1)); process.exit()`],
  ['before a signal', `log(1); process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 9000)`],
  ['before the natural end', 'log(1)'],
])('an event that is logged after close(), %s, is delivered', async (_, end) => {
  const { numbers } = await run(`${core()} log(0); await shipper.close(); ${end}`)
  expect(numbers).toEqual([0, 1])
})
