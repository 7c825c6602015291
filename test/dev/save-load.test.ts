import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { logferry } from '../support/logferry.ts'
import { startDev } from './service.ts'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'logferry-save-'))
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

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
    expect(dev.process.stderr()).toContain('2 events were loaded.')
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

  it('shows any file of events, and counts the lines that are none', async () => {
    const file = join(directory, 'other.ndjson')
    writeFileSync(
      file,
      `{"message":"plain"}\nno event\n\n[1]\n{"deep":${'['.repeat(10_000)}${']'.repeat(10_000)}}\n"${'x'.repeat(100)}`,
    )
    await using dev = await startDev(['--load', file])
    expect(dev.process.stderr()).toContain('2 events were loaded; 3 lines are no events.')
    expect((await dev.events({ q: 'plain' })).events).toMatchObject([{ dataset: 'loaded', message: 'plain' }])
  })

  it.each([
    ['--load', 'missing'],
    ['--save', 'missing/file'],
  ])('end with 1 if the file of %s cannot be opened', async (option, name) => {
    const { code, stdout, stderr } = await logferry(['dev', '--port', '0', option, join(directory, name)], {
      HOME: directory,
    })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^logferry: ENOENT: no such file or directory/m)
  })

  it('go on serving when the disk is full, and say so once', async () => {
    await using dev = await startDev(['--save', '/dev/full'])
    await dev.ingest([{ n: 1 }])
    await dev.process.until(/--save: no more events are saved: ENOSPC/)
    await dev.ingest([{ n: 2 }])
    expect((await dev.events()).events).toHaveLength(2)
    expect(dev.process.stderr().match(/no more events are saved/g)).toHaveLength(1)
  })
})
