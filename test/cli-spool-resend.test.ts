/** `logferry spool resend-rejected`, as it is built and installed, on what real processes have left. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Emulator, startEmulator } from '../src/emulator.ts'
import { DeadLetters } from '../src/spool/dead-letters.ts'
import { startFaultServer, type WireRequest } from './support/fault-server.ts'
import { unprintable } from './support/hostile-text.ts'
import { logferryInTurn, startLogferry } from './support/logferry.ts'
import { mounted } from './support/mounted.ts'
import { mustRunSync } from './support/run-sync.ts'
import { environmentFor, makeSpool } from './support/spool-of-test.ts'
import { until } from './support/until.ts'

interface Letter {
  readonly dataset: string
  readonly event: Record<string, unknown>
  readonly reason: string
}

/** Leaves events with these numbers in `rejected.ndjson`, as an application does. */
function leaveRefused(directory: string, numbers: readonly number[], datasetOf = (_: number) => 'd'): void {
  const application = new DeadLetters(directory, error => expect.fail(String(error)))
  for (const n of numbers) {
    const event = { _time: `2026-11-21T10:42:07.00000000${n}Z`, level: 'info', n }
    application.write(
      [{ dataset: datasetOf(n), json: JSON.stringify(event), status: 400, reason: 'no' }],
      new Date(1e12),
    )
  }
  application.close()
}

function letters(directory: string, file = 'rejected.ndjson'): Letter[] {
  const path = join(directory, file)
  if (!fs.existsSync(path)) return []
  return linesIn(path).map(line => JSON.parse(line))
}

function linesIn(path: string): string[] {
  return fs.readFileSync(path, 'utf8').split('\n').slice(0, -1)
}

function resend(directory: string, emulator: Emulator, ...options: string[]) {
  return logferryInTurn(['spool', 'resend-rejected', directory, ...options], environmentFor(emulator))
}

function numbers(emulator: Emulator, dataset = 'd'): unknown[] {
  return emulator
    .events(dataset)
    .map(({ n }) => n)
    .sort()
}

describe.concurrent('logferry spool resend-rejected', () => {
  it('removes the events that the service takes after an edit, and keeps those that it refuses again', async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    leaveRefused(spool.directory, [1, 2, 3])
    const path = join(spool.directory, 'rejected.ndjson')
    const before = letters(spool.directory)
    expect(before.map(({ event }) => event.n)).toEqual([1, 2, 3])
    fs.writeFileSync(path, fs.readFileSync(path, 'utf8').replace('"n":2', '"n":-2'))
    emulator.faults.rejectEvents(({ n }) => Number(n) > 0, 'still not')
    const { code, stdout } = await resend(spool.directory, emulator)
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: `Delivered: 1 event\nRefused again: 2 events; the field reason says why\nLeft in ${path}: 2 lines\n`,
    })
    expect(emulator.events('d')).toEqual([{ ...before[1]?.event, n: -2 }])
    const after = letters(spool.directory).map(({ event, reason }) => ({ event, reason }))
    expect(after).toEqual([before[0], before[2]].map(letter => ({ event: letter?.event, reason: 'still not' })))
    expect(spool.files().filter(name => !name.startsWith('rejected.ndjson'))).toEqual([])
  })

  it('sends events after an edit with a byte order mark and the line ends of Windows', async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    leaveRefused(spool.directory, [1, 2])
    const path = join(spool.directory, 'rejected.ndjson')
    fs.writeFileSync(path, `\ufeff${fs.readFileSync(path, 'utf8').replaceAll('\n', '\r\n')}`)
    expect(await resend(spool.directory, emulator)).toMatchObject({ code: 0, stdout: 'Delivered: 2 events\n' })
    expect(numbers(emulator)).toEqual([1, 2])
  })

  it('keeps all events that the service refuses again, however large they are', async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    emulator.faults.rejectEvents(() => true, `still not, ${'for a longer reason '.repeat(20)}`)
    const application = new DeadLetters(spool.directory, error => expect.fail(String(error)))
    const text = 'x'.repeat(99_700)
    const count = 2 * 84 // as many as fill both files with this reason
    for (let n = 0; n < count; n++) {
      const event = { _time: new Date(1.7e12 + n).toISOString(), n, text }
      application.write([{ dataset: 'd', json: JSON.stringify(event), status: 400, reason: 'no' }], new Date(1e12))
    }
    application.close()
    const before = letters(spool.directory, 'rejected.1.ndjson').length + letters(spool.directory).length
    expect(before).toBe(count)
    const { stdout } = await resend(spool.directory, emulator)
    expect(stdout).toContain(`Refused again: ${count} events;`)
    const left = [...letters(spool.directory, 'rejected.1.ndjson'), ...letters(spool.directory)]
    expect(new Set(left.map(({ event }) => event.n)).size).toBe(count)
  })

  it('sends each event to its own dataset, and exits with 0 if nothing is left', async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    leaveRefused(spool.directory, [1, 2, 3, 4, 5], n => (n % 2 === 0 ? 'even' : 'odd'))
    fs.renameSync(join(spool.directory, 'rejected.ndjson'), join(spool.directory, 'rejected.1.ndjson'))
    const { code, stdout } = await resend(spool.directory, emulator, '--json')
    const counts = { delivered: 5, refused: 0, unanswered: 0, doubtful: 0, unsendable: 0, left: 0 }
    expect({ code, report: JSON.parse(stdout) }).toEqual({
      code: 0,
      report: { directory: spool.directory, ...counts, ending: 'done' },
    })
    expect([numbers(emulator, 'odd'), numbers(emulator, 'even')]).toEqual([
      [1, 3, 5],
      [2, 4],
    ])
    expect(spool.files()).toEqual([])
    expect(await resend(spool.directory, emulator)).toMatchObject({ code: 0, stdout: 'Delivered: 0 events\n' })
  })

  it('keeps every event if the service is away, byte for byte', async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    leaveRefused(spool.directory, [1, 2, 3])
    const before = fs.readFileSync(join(spool.directory, 'rejected.ndjson'), 'utf8')
    emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    const { code, stdout } = await resend(spool.directory, emulator, '--timeout', '0.5')
    expect(code).toBe(1)
    expect(stdout).toMatch(/^Delivered: 0 events\nNot sent: 3 events, because the time was up\n/)
    expect(fs.readFileSync(join(spool.directory, 'rejected.ndjson'), 'utf8')).toBe(before)
  })

  it('ends in time also with more events than are sent at once, and leaves them', async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    leaveRefused(
      spool.directory,
      Array.from({ length: 2500 }, (_, n) => n % 10),
    )
    emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    const { code, stdout, stderr } = await resend(spool.directory, emulator, '--timeout', '0.5')
    expect(code).toBe(1)
    expect(stderr).not.toContain('dropped')
    expect(stdout).toMatch(/^Delivered: 0 events\nNot sent: 2,500 events, because the time was up\n/)
    expect(letters(spool.directory)).toHaveLength(2500)
  })

  it('loses nothing and sends nothing twice if it is killed while the service has not answered yet', async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    leaveRefused(spool.directory, [1, 2, 3])
    emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    {
      await using running = startLogferry(['spool', 'resend-rejected', spool.directory], environmentFor(emulator))
      await running.until(/Delivered so far: 0 events/)
      await running.end('SIGKILL')
    }
    expect((await logferryInTurn(['spool', 'ls', spool.directory])).stdout).toMatch(
      /^3 refused events in rejected\.ndjson\.\n\n3 of them are in rejected\.resend: .* was interrupted\. Run it again\.$/m,
    )
    emulator.faults.clear()
    const { code, stdout, stderr } = await resend(spool.directory, emulator)
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Delivered: 3 events\n' })
    expect(stderr).toMatch(/^An earlier run was interrupted; 3 events of it are included\.\n/)
    expect(numbers(emulator)).toEqual([1, 2, 3])
    expect(spool.files()).toEqual([])
  })

  it('does not send events again that a killed run has noted as delivered, or has put back', async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    leaveRefused(spool.directory, [1, 2, 3, 4, 5])
    const all = linesIn(join(spool.directory, 'rejected.ndjson'))
    // As a run leaves it that was killed while it put the events back: two were delivered, one is back already.
    const work = join(spool.directory, 'rejected.resend')
    fs.mkdirSync(work, { mode: 0o700 })
    fs.renameSync(join(spool.directory, 'rejected.ndjson'), join(work, '2.ndjson'))
    fs.writeFileSync(join(work, 'settled'), '2.ndjson:1\n2.ndjson:3\n2.ndj')
    fs.writeFileSync(join(work, 'restoring'), '')
    fs.writeFileSync(join(spool.directory, 'rejected.ndjson'), `${all[1]}\n${all[3]?.slice(0, 20)}`)
    const { code, stdout } = await resend(spool.directory, emulator)
    expect(numbers(emulator)).toEqual([2, 4, 5])
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: expect.stringMatching(/^Delivered: 3 events\nWithout an event that can be sent: 1 line;/),
    })
    expect(fs.readFileSync(join(spool.directory, 'rejected.ndjson'), 'utf8')).toBe(`${all[3]?.slice(0, 20)}\n`)
  })

  it('sends nothing twice if the disk becomes full meanwhile, and says that it is full', async ({ skip }) => {
    using spool = makeSpool()
    using disk = mounted(spool.directory, 'size=64k,mode=0700')
    if (disk === undefined) return skip('no file system can be mounted')
    await using emulator = await startEmulator()
    leaveRefused(spool.directory, [1, 2, 3])
    const other = join(spool.directory, 'other')
    emulator.faults.rejectEvents(({ n }) => {
      if (!fs.existsSync(other)) expect(() => fs.writeFileSync(other, Buffer.alloc(65_536))).toThrow('ENOSPC')
      return n === 3
    }, 'still not')
    const { code, stderr } = await resend(spool.directory, emulator)
    expect(code).toBe(1)
    expect(stderr).toMatch(/cannot be written \(ENOSPC\)\. The disk is full\. .* Then run this again\.$/m)
    fs.rmSync(other)
    emulator.faults.clear()
    expect(await resend(spool.directory, emulator)).toMatchObject({ code: 0, stdout: 'Delivered: 1 event\n' })
    expect(numbers(emulator)).toEqual([1, 2, 3])
    expect(spool.files()).toEqual([])
  })

  it('keeps each event once if one new reason cannot be written, and a later one can', async () => {
    using spool = makeSpool()
    leaveRefused(spool.directory, [1, 2], n => `d${n}`)
    const path = join(spool.directory, 'rejected.ndjson')
    const refuse = (request: WireRequest): void => {
      const failures = request.lines().map(line => ({ timestamp: JSON.parse(line)._time, error: 'still not' }))
      request.answer('200 OK', JSON.stringify({ ingested: 0, failed: failures.length, failures }))
    }
    let second: WireRequest | undefined
    await using service = await startFaultServer(request => {
      if (!request.isWhole) return
      if (request.head.includes('/d2/')) second = request
      else {
        fs.mkdirSync(path) // in the way of the file
        refuse(request)
      }
    })
    await using running = startLogferry(
      ['spool', 'resend-rejected', spool.directory],
      environmentFor({ url: service.url, token: 'token' }),
    )
    await running.until(/refused 1 event for dataset "d1".*Delivered so far/s) // by then, the new reason was to be written
    await until(() => second !== undefined, 'the second event arrives')
    fs.rmdirSync(path)
    refuse(second as unknown as WireRequest)
    expect(await running.end()).toBe(1)
    const left = letters(spool.directory).map(({ event, reason }) => [event.n, reason])
    expect(left.sort()).toEqual([
      [1, 'no'],
      [2, 'still not'],
    ])
  })

  it('sends nothing, and moves nothing, if the disk is full', async ({ skip }) => {
    using spool = makeSpool()
    using disk = mounted(spool.directory, 'size=64k,mode=0700')
    if (disk === undefined) return skip('no file system can be mounted')
    await using emulator = await startEmulator()
    leaveRefused(spool.directory, [1, 2, 3])
    expect(() => fs.writeFileSync(join(spool.directory, 'other'), Buffer.alloc(65_536))).toThrow('ENOSPC')
    const { code, stderr } = await resend(spool.directory, emulator)
    expect(code).toBe(1)
    expect(stderr).toMatch(/cannot be written \(ENOSPC\)\. The disk is full\./)
    expect(letters(spool.directory)).toHaveLength(3)
    expect(emulator.stats().requests).toBe(0)
  })

  it('keeps events that an application goes on refusing meanwhile', async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    const application = new DeadLetters(spool.directory, error => expect.fail(String(error)))
    const write = (n: number) =>
      application.write([{ dataset: 'd', json: `{"n":${n}}`, status: 400, reason: 'no' }], new Date(1e12))
    write(1)
    emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    await using running = startLogferry(['spool', 'resend-rejected', spool.directory], environmentFor(emulator))
    await running.until(/Delivering 1 event/)
    write(2)
    emulator.faults.clear()
    expect(await running.end()).toBe(0)
    write(3)
    application.close()
    expect(numbers(emulator)).toEqual([1])
    expect(letters(spool.directory).map(({ event }) => event.n)).toEqual([2, 3])
  })

  it('does not start while another one runs', async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    leaveRefused(spool.directory, [1, 2])
    emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    await using running = startLogferry(['spool', 'resend-rejected', spool.directory], environmentFor(emulator))
    await running.until(/Delivering 2 events/)
    const second = await resend(spool.directory, emulator)
    expect(second).toMatchObject({ code: 1, stderr: expect.stringMatching(/another process is sending/) })
    emulator.faults.clear()
    expect(await running.end()).toBe(0)
    expect(numbers(emulator)).toEqual([1, 2])
  })

  it('sends nothing for lines that are no refused events, and keeps them as they are', async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    const odd = [
      'not json \u001b[2J',
      '[]',
      '{"dataset":"..","event":{"n":1}}',
      '{"dataset":"d","event":"{\\"n\\":1}"}',
      '{"dataset":"d"}',
      '{"__proto__":{"dataset":"d","event":{"n":1}}}',
    ]
    const good = '{"dataset":"d","event":{"_time":"2026-01-01T00:00:00Z","__proto__":{"x":1},"n":7}}'
    const path = join(spool.directory, 'rejected.ndjson')
    fs.writeFileSync(path, [...odd.slice(0, 3), good, ...odd.slice(3)].join('\n'))
    const { code, stdout, stderr } = await resend(spool.directory, emulator)
    expect(code).toBe(1)
    expect(stdout + stderr).not.toMatch(unprintable)
    expect(emulator.lines('d')).toEqual(['{"_time":"2026-01-01T00:00:00Z","__proto__":{"x":1},"n":7}'])
    expect(emulator.datasets()).toEqual(['d'])
    expect(linesIn(path)).toEqual(odd)
  })

  it.each([
    ['a symbolic link', (path: string) => fs.symlinkSync('/etc/hostname', path)],
    ['a pipe', (path: string) => mustRunSync('mkfifo', [path])],
    ['a directory', (path: string) => fs.mkdirSync(path)],
    [
      'a file with a second name',
      (path: string) => {
        fs.writeFileSync(`${path}.other`, '{"dataset":"d","event":{"n":1}}\n')
        fs.linkSync(`${path}.other`, path)
      },
    ],
  ])('does not touch %s in place of rejected.ndjson', async (_, make) => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    leaveRefused(spool.directory, [1])
    fs.renameSync(join(spool.directory, 'rejected.ndjson'), join(spool.directory, 'rejected.1.ndjson'))
    make(join(spool.directory, 'rejected.ndjson'))
    const { code, stdout, stderr } = await resend(spool.directory, emulator)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/is not a regular file/)
    expect(emulator.stats().requests).toBe(0)
    expect(fs.readdirSync(spool.directory).filter(name => !name.startsWith('rejected.ndjson'))).toEqual([
      'rejected.1.ndjson',
    ])
  })
})
