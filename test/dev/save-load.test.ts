import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { logferryInTurn } from '../support/logferry.ts'
import { rawRequest, startDev } from './service.ts'

const main = fileURLToPath(new URL('../../dist/cli/main.cjs', import.meta.url))

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'logferry-save-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

describe('--save and --load', () => {
  it('bring the events of an earlier run back, each as it was sent and when it arrived', async () => {
    const file = join(directory, 'events.ndjson')
    const time = '2026-11-22T10:42:07.123000001Z'
    const sent = '{"n":1.0,\n "__proto__":{"a":"\\u2028"}}'
    let receivedAt: number | undefined
    {
      await using dev = await startDev(['--save', file])
      const headers = { authorization: `Bearer ${dev.token}`, 'content-type': 'application/json' }
      await dev.raw('/v1/datasets/a%22b/ingest', { method: 'POST', headers, body: `[${sent}]` })
      await dev.ingest([{ _time: time, n: 2, service: 'shop' }])
      receivedAt = (await dev.events({ order: 'asc', after: 0 })).events[0]?.receivedAt
      expect(await dev.process.end('SIGTERM')).toBe(0)
    }
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const [first] = readFileSync(file, 'utf8').split('\n')
    expect(first).toBe(`{"dataset":"a\\"b","receivedAt":${receivedAt},"event":${sent.replace('\n', ' ')}}`)

    await using dev = await startDev(['--load', file, '--save', file])
    await dev.process.until(/2 events were loaded\./)
    const { events } = await dev.events({ order: 'asc', after: 0 })
    expect(events.map(({ dataset, source }) => [dataset, source])).toEqual([
      ['a"b', null],
      ['d', 'shop'],
    ])
    const link = await dev.raw(`/dev/api/event?id=earlier.2&t=${time}`)
    expect(JSON.parse(link.body)).toMatchObject({ id: events[1]?.id, request: null })
    expect(events[0]).toMatchObject({ line: sent.replace('\n', ' '), receivedAt })
    await dev.ingest([{ n: 3 }])
    await dev.process.end('SIGTERM')
    expect(readFileSync(file, 'utf8').trimEnd().split('\n')).toHaveLength(3)
  })

  it('find an event again by the address of its page, in whatever form its time is', async () => {
    const times = [
      '2025-11-22 10:42:07',
      '2025-11-22T10:42:07,5+0100',
      1763808127,
      1763808127123,
      '1763808127123456789',
    ]
    const file = join(directory, 'times.ndjson')
    writeFileSync(
      file,
      times.map(time => `{"_time":${/^\d+$/.test(String(time)) ? time : JSON.stringify(time)}}\n`).join(''),
    )
    await using dev = await startDev(['--load', file], { TZ: 'America/New_York' })
    await dev.process.until(/5 events were loaded\./)
    for (const time of times) {
      const answer = await dev.raw(`/dev/api/event?${new URLSearchParams({ id: 'earlier.1', t: String(time) })}`)
      expect(JSON.parse(answer.body)).toMatchObject({ time: String(time) })
    }
  })

  it('shows any file of events, and counts the lines that are none', async () => {
    const file = join(directory, 'other.ndjson')
    writeFileSync(
      file,
      `{"message":"plain"}\nno event\n\n[1]\n{"deep":${'['.repeat(10_000)}${']'.repeat(10_000)}}\n"${'x'.repeat(100)}`,
    )
    await using dev = await startDev(['--load', file])
    await dev.process.until(/2 events were loaded; 3 lines are no events\./)
    expect((await dev.events({ q: 'plain' })).events).toMatchObject([{ dataset: 'loaded', message: 'plain' }])
  })

  it.each([
    ['--load', 'missing', 'read (ENOENT). Check the path.'],
    ['--load', '', 'read (EISDIR). The path is that of a directory: name a file.'],
    ['--save', 'missing/file', 'written (ENOENT). Check the path.'],
  ])('end with 1 and a remedy if the file of %s %s cannot be opened', async (option, name, trouble) => {
    const { code, stdout, stderr } = await logferryInTurn(['dev', '--port', '0', option, join(directory, name)], {
      HOME: directory,
    })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(`logferry: ${option}: the file cannot be ${trouble}\n`)
  })

  it('load what a cut file has, and say that the rest is missing', async () => {
    const file = join(directory, 'cut.ndjson.gz')
    const whole = gzipSync(Array.from({ length: 20_000 }, (_, n) => `{"message":"${n} ${Math.random()}"}\n`).join(''))
    writeFileSync(file, whole.subarray(0, whole.length / 2))
    await using dev = await startDev(['--load', file])
    await dev.process.until(/The rest of the file is missing/)
    expect(dev.process.stderr()).toMatch(/logferry: [1-9],\d{3} events were loaded/)
    expect(dev.process.stderr()).toContain(
      '--load: the file cannot be read: unexpected end of file. The rest of the file is missing.',
    )
  })

  it.each(['not compressed', ''])('end with 1 and a sentence if the file is no archive but %j', async content => {
    const file = join(directory, 'none.gz')
    writeFileSync(file, content)
    const { code, stderr } = await logferryInTurn(['dev', '--port', '0', '--load', file], { HOME: directory })
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^logferry: --load: [^\n]+\n$/) })
  })

  it('take a line that resembles a saved one only if it is one', async () => {
    const file = join(directory, 'foreign.ndjson')
    const lines = [
      '\ufeff{"message":"after a mark"}',
      '{"dataset":"d","receivedAt":1e308,"event":{"message":"no time"}}',
      '{"dataset":"d","receivedAt":1,"event":{"message":"first"},"event":{"message":"second"}}',
      `{"dataset":"${'d'.repeat(1001)}","receivedAt":1,"event":{}}`,
      '{"event": {"message": "reordered"}, "receivedAt": 2, "dataset": "e"}',
    ]
    writeFileSync(file, lines.join('\n'))
    await using dev = await startDev(['--load', file])
    await dev.process.until(/5 events were loaded\./)
    const { events } = await dev.events({ order: 'asc', after: 0 })
    expect(events.map(({ dataset }) => dataset)).toEqual(['loaded', 'loaded', 'd', 'loaded', 'e'])
    expect(events.map(({ line }) => Object.keys(JSON.parse(line)))).toContainEqual(['message'])
    expect(events[2]).toMatchObject({ receivedAt: 1, line: '{"message":"second"}' })
    expect(events[4]).toMatchObject({ receivedAt: 2, message: 'reordered' })
  })

  it('begin a line of their own in a file whose last line has no end', async () => {
    const file = join(directory, 'open.ndjson')
    writeFileSync(file, '{"message":"without an end"}')
    {
      await using dev = await startDev(['--save', file])
      await dev.ingest([{ message: 'saved' }])
      await dev.process.end('SIGTERM')
    }
    await using dev = await startDev(['--load', file])
    await dev.process.until(/2 events were loaded\./)
    const { events } = await dev.events({ order: 'asc', after: 0 })
    expect(events.map(({ message }) => message)).toEqual(['without an end', 'saved'])
  })

  it('save every event that has arrived when the reader of --tail ends', async () => {
    const file = join(directory, 'unread.ndjson')
    const state = { HOME: directory, XDG_STATE_HOME: directory }
    const args = ['dev', '--port', '0', '--token', 'dev-token', '--tail', '--save', file]
    const child = spawn(process.execPath, [main, ...args], { env: { ...process.env, ...state }, stdio: 'pipe' })
    let stderr = ''
    for await (const chunk of child.stderr.iterator({ destroyOnReturn: false })) {
      stderr += chunk
      if (stderr.includes('Press Ctrl-C')) break
    }
    child.stderr.on('data', chunk => {
      stderr += chunk
    })
    child.stdout.destroy()
    const url = /LOGFERRY_URL=(\S+)/.exec(stderr)?.[1] as string
    const events = Array.from({ length: 2000 }, (_, n) => ({ n, text: 'x'.repeat(100) }))
    const request = {
      method: 'POST',
      headers: { authorization: 'Bearer dev-token', 'content-type': 'application/json' },
      body: JSON.stringify(events),
    }
    const sent = Array.from({ length: 8 }, () => rawRequest(url, '/v1/datasets/d/ingest', request).catch(() => {}))
    const [code] = await once(child, 'close')
    await Promise.all(sent)
    const saved = readFileSync(file, 'utf8').split('\n')
    // Each request that has arrived is saved as a whole.
    expect({ code, end: saved.pop(), rest: saved.length % events.length }).toEqual({ code: 0, end: '', rest: 0 })
    expect(saved.length).toBeGreaterThanOrEqual(Number(/Events received: (\d+)/.exec(stderr)?.[1]))
  })

  it('go on serving when the disk is full, and say so once, and at the end how many are missing', async () => {
    await using dev = await startDev(['--save', '/dev/full'])
    await dev.ingest([{ n: 1 }])
    await dev.process.until(/--save: no more events are saved: ENOSPC/)
    await dev.ingest([{ n: 2 }])
    expect((await dev.events()).events).toHaveLength(2)
    await dev.process.end('SIGTERM')
    expect(dev.process.stderr().match(/no more events are saved/g)).toHaveLength(1)
    expect(dev.process.stderr()).toContain('--save: 2 events were not saved')
  })
})
