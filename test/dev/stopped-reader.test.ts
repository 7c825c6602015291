/** Commands whose output is not read any more, as that of `logferry tail | less` while less shows its first page. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { surroundings } from '../support/surroundings.ts'
import { type Dev, startDev } from './service.ts'

const main = new URL('../../dist/cli/main.cjs', import.meta.url).pathname
const events = Array.from({ length: 3000 }, (_, n) => ({ n, text: 'x'.repeat(1000) }))

describe.skipIf(process.platform === 'win32')('a reader that has stopped', () => {
  let dev: Dev
  beforeAll(async () => {
    dev = await startDev()
    await dev.ingest(events)
  })
  afterAll(() => dev?.[Symbol.asyncDispose]())

  it.each([
    ['tail', ['--json']],
    ['logs', ['--limit', '3000']],
  ])("does not keep 'logferry %s' alive after SIGTERM", async (command, options) => {
    const args = [main, command, '--url', dev.url, ...options]
    const child = spawn(process.execPath, args, { env: surroundings(), stdio: ['ignore', 'pipe', 'inherit'] })
    try {
      const isRead = once(child.stdout, 'readable') // and nothing is read
      if (command === 'tail') {
        const timer = setInterval(() => void dev.ingest(events), 100)
        await isRead
        clearInterval(timer)
      } else await isRead
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      expect(await ended).toBeOneOf([
        [0, null],
        [null, 'SIGTERM'],
      ])
    } finally {
      child.kill('SIGKILL')
      child.stdout.destroy()
    }
  })

  it("lets 'logferry tail' read no further than it has read itself, and hears what was forgotten until then", async () => {
    await using small = await startDev(['--max-events', '1000'])
    const args = [main, 'tail', '--json', '--url', small.url]
    const tail = spawn(process.execPath, args, { env: surroundings(), stdio: ['ignore', 'pipe', 'pipe'] })
    try {
      let told = ''
      tail.stderr.on('data', text => {
        told += text
      })
      const isRead = once(tail.stdout, 'readable') // and nothing is read
      const timer = setInterval(() => void small.ingest(events.slice(0, 1000)), 100)
      await isRead
      clearInterval(timer)
      for (let batch = 0; batch < 20; batch++) {
        await small.ingest(events.slice(0, 1000))
        await delay(50)
      }
      tail.stdout.resume()
      await vi.waitFor(() => expect(told).toMatch(/events were forgotten by the service before being read/), 10_000)
    } finally {
      tail.kill('SIGKILL')
    }
  })
})
