/** Commands whose output is not read any more, as that of `logferry tail | less` while less shows its first page. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { logferry } from '../support/logferry.ts'
import { runProgram } from '../support/run-script.ts'
import { surroundings } from '../support/surroundings.ts'
import { type Dev, startDev } from './service.ts'

const main = fileURLToPath(new URL('../../dist/cli/main.cjs', import.meta.url))
const events = Array.from({ length: 3000 }, (_, n) => ({ n, text: 'x'.repeat(1000) }))
/** Stops the command while it writes for the first time. */
const stopAtFirstWrite = `data:text/javascript,${encodeURIComponent(`
  const { write } = process.stdout
  process.stdout.write = function (...given) { process.emit('SIGTERM'); return write.apply(this, given) }`)}`

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

  it.each([
    ['tail', ['--json', '--last', '3000']],
    ['tail', ['--last', '3000']],
    ['logs', ['--json', '--limit', '3000']],
    ['logs', ['--logfmt', '--limit', '3000', '--reverse']],
  ])("gets from 'logferry %s %j' a part at a time, and nothing more after a signal", async (command, options) => {
    const { code, stdout, stderr } = await logferry([command, '--url', dev.url, ...options], {}, [
      '--import',
      stopAtFirstWrite,
    ])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.length).toBeGreaterThan(50_000)
    expect(stdout.length).toBeLessThan(100_000)
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

  it("that has ended ends neither the program of 'logferry dev --tail' nor its service", async () => {
    const program = `
      for (let n = 0; n < 4; n++) {
        const headers = { authorization: 'Bearer ' + process.env.LOGFERRY_TOKEN, 'content-type': 'application/json' }
        const { status } = await fetch(process.env.LOGFERRY_URL + '/v1/datasets/d/ingest', { method: 'POST', headers, body: '[{}]' })
        console.error(status)
        await new Promise(resolve => setTimeout(resolve, 300))
      }
      process.exit(7)`
    const script = '"$0" "$1" dev --port 0 --tail -- "$0" --input-type=module -e "$2" | head -1 >&2; echo $PIPESTATUS'
    const args = ['-c', script, process.execPath, main, program]
    const { stdout, stderr } = await runProgram('bash', args, { HOME: tmpdir() })
    expect(stdout).toBe('7\n')
    expect(stderr.match(/^200$/gm)).toHaveLength(4)
  })
})
