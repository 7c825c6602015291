/** `npm run soak` runs 100 processes for each end. */
import { describe, expect, it } from 'vitest'
import { core, inOrder, run, upTo, winston } from '../exit/running.ts'

describe.concurrent('scenario 15: the process ends in the tick of its log calls', () => {
  it.each([
    ['before ours', `process.on('exit', () => log(10))`, core()],
    ['after ours', '', `${core()} process.on('exit', () => log(10))`],
    ['before ours, by Winston', `process.on('exit', () => log(10))`, winston()],
  ])('a log call inside an exit handler of the application, registered %s, is delivered', async (_, before, after) => {
    const { stderr, numbers } = await run(`${before}; ${after}; log(0, 10); process.exit()`)
    expect([stderr, inOrder(numbers)]).toEqual(['', upTo(11)])
  })

  it('by an exception inside an exit handler: delivered all the same', async () => {
    const { code, numbers } = await run(`${core()} log(0, 10); process.on('exit', () => { log(10); throw 1 })`)
    expect(code).not.toBe(0)
    expect(inOrder(numbers)).toEqual(upTo(11))
  })
  it.each([
    ['throws', `throw new Error('theirs')`],
    ['calls process.exit() once more', 'process.exit(4)'],
  ])('although an exit handler of the application, which also logs, %s: every event is delivered', async (_, then) => {
    const handler = `process.on('exit', () => { log(10); ${then} })`
    const byCall = await run(`${handler}; ${core()} log(0, 10); process.exit(3)`)
    expect(inOrder(byCall.numbers)).toEqual(upTo(11))
    const natural = await run(`${handler}; ${core()} log(0, 10)`)
    expect(inOrder(natural.numbers)).toEqual(upTo(11))
  })
})
