/** A process may load this package again and again, as Jest's `resetModules` and several bundles do. */
import { describe, expect, it } from 'vitest'
import { inOrder, run, upTo } from './running.ts'

const loadCopies = `
  import { createRequire } from 'node:module'
  const require = createRequire(process.cwd() + '/')
  const shippers = []
  for (let n = 0; n < 15; n++) {
    for (const path of Object.keys(require.cache)) delete require.cache[path]
    shippers.push(require('logferry').createShipper())
    shippers[n].ship({ n })
  }
  if (new Set(shippers.map(({ constructor }) => constructor)).size !== 15) throw new Error('not 15 copies')
`

describe.concurrent('a process with 15 copies of this package', () => {
  it.each([
    ['by itself', ''],
    ['by process.exit()', 'process.exit()'],
  ])('delivers the events of each copy, and warns of no leak: it ends %s', async (_, end) => {
    const { code, stderr, numbers } = await run(`${loadCopies} ${end}`)
    expect({ code, stderr, numbers: inOrder(numbers) }).toEqual({ code: 0, stderr: '', numbers: upTo(15) })
  })

  it('leaves the application the room for ten listeners, and the warning of a leak', async () => {
    const { stdout } = await run(`${loadCopies}
      process.on('warning', ({ name, count }) => console.log(name))
      const addListeners = count => { for (let n = 0; n < count; n++) process.on('SIGTERM', () => {}) }
      const turn = () => new Promise(resolve => setTimeout(resolve, 20))
      addListeners(10)
      await turn()
      console.log('ten')
      addListeners(40)
      await turn()
      process.exit()`)
    expect(stdout).toBe('ten\nMaxListenersExceededWarning\n')
  })
})
