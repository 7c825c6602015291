/**
 * An application that removes all listeners for the end of the process removes the listeners that deliver events, too.
 */
import { describe, expect, it } from 'vitest'
import { core, run, upTo } from './running.ts'

const removals = [
  ["of 'exit'", `process.removeAllListeners('exit')`],
  ["of 'exit', one after the other", `for (const listener of process.listeners('exit')) process.off('exit', listener)`],
  ['of all events', 'process.removeAllListeners()'],
] as const

const ends = [
  ['process.exit() in the same tick', 'process.exit()'],
  ['process.exit() later', 'setTimeout(() => process.exit(), 20)'],
  ['its natural end', ''],
] as const

const program = (remove: string, end: string) => `
  ${core()}
  log(0, 10)
  ${remove}
  log(10, 20)
  ${remove}
  process.on('warning', ({ code }) => console.log(code))
  ${end}
`

describe.concurrent.each(removals)('a process with all listeners removed, %s', (what, remove) => {
  it.each(ends)('delivers by %s, and warns once', async (_, end) => {
    if (what === 'of all events' && end === 'process.exit()') return // the listeners come back after that tick
    const { code, stdout, numbers } = await run(program(remove, end))
    expect([code, numbers]).toEqual([0, upTo(20)])
    if (end !== 'process.exit()') expect(stdout).toBe('LOGFERRY_EXIT\n')
  })
})

it('a listener of the application before those of logferry can be removed', async () => {
  const { stderr, numbers } = await run(`
    ${core()}
    process.prependListener('exit', () => console.error('still there'))
    log(0, 10)
    process.on('exit', () => console.error('still there'))
    process.removeAllListeners('exit')
    process.exit()
  `)
  expect(numbers).toEqual(upTo(10))
  expect(stderr).not.toContain('still there')
  expect(stderr).toContain('LOGFERRY_EXIT')
})

const removalsOfSignal = [
  ['at once', `process.removeAllListeners('SIGTERM')`],
  ['one after the other', `for (const listener of process.listeners('SIGTERM')) process.off('SIGTERM', listener)`],
  [
    'with others before and after',
    `process.prependListener('SIGTERM', () => {}); process.on('SIGTERM', () => {}); process.removeAllListeners('SIGTERM')`,
  ],
] as const

describe.concurrent.each(removalsOfSignal)('a process with all listeners of a signal removed, %s', (_, remove) => {
  const pending = `${core('maxBatchAgeMs: 60_000')} log(0, 10); ${remove}`
  const raise = `process.kill(process.pid, 'SIGTERM')`

  it.each([
    ['in the same tick', raise],
    ['later', `setTimeout(() => ${raise}, 20)`],
  ])('delivers by this signal %s, and ends with the same status', async (_, end) => {
    const { signal, stderr, numbers } = await run(`${pending}; ${end}; setInterval(() => {}, 1000)`)
    expect([signal, stderr, numbers]).toEqual(['SIGTERM', '', upTo(10)])
  })

  it('has no listener of logferry any more once nothing is pending', async () => {
    const count = `process.listenerCount('SIGTERM')`
    const { stdout } = await run(`${pending}; console.log(${count}); await shipper.flush(); console.log(${count})`)
    expect(stdout).toBe('1\n0\n')
  })
})
