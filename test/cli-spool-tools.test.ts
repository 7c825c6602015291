/** `logferry spool show`, `verify`, `export` and `send --to`, as they are built and installed. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { startEmulator } from '../src/emulator.ts'
import { recordBytes, writeEnd, writeRecord } from '../src/spool/segment-format.ts'
import { hostileText, unprintable } from './support/hostile-text.ts'
import { logferry, logferryInTurn, startLogferry } from './support/logferry.ts'
import { mounted } from './support/mounted.ts'
import { runSync } from './support/run-sync.ts'
import { environmentFor, leaveByClose, leaveByKill, makeSpool, nowhere, startLogging } from './support/spool-of-test.ts'
import { surroundings } from './support/surroundings.ts'

const main = fileURLToPath(new URL('../dist/cli/main.cjs', import.meta.url))

/** Leaves a segment as another program may have made it, with checksums that are right. */
function craft(directory: string, dataset: string, lines: readonly string[]): string {
  const name = Buffer.from(dataset)
  const records = lines.map((line, number) => {
    const bytes = Buffer.from(line)
    const target = Buffer.alloc(recordBytes(name, bytes.length))
    writeRecord(target, 0, name, number, 4, bytes, 0, bytes.length)
    return target
  })
  const end = Buffer.alloc(recordBytes(name, 0))
  writeEnd(end, 0, name, lines.length)
  const path = join(directory, '20200101T000000Z-00000001')
  fs.mkdirSync(path, { mode: 0o700 })
  fs.writeFileSync(join(path, '000000000001.segment'), Buffer.concat([...records, end]))
  return path
}

describe.concurrent('a directory of another user in a spool', () => {
  it.runIf(process.getuid?.() === 0).each([
    ['verify', 1, /^20200101T000000Z-00000001: the directory belongs to another user$/m],
    ['export', 1, /20200101T000000Z-00000001 is left out: the directory belongs to another user\./],
    ['show', 0, /20200101T000000Z-00000001 is left out: the directory belongs to another user\./],
  ])('is named by %s', async (command, expected, message) => {
    using spool = makeSpool()
    await leaveByKill(spool.directory, '', 1)
    fs.chownSync(craft(spool.directory, 'd', ['{"n":1}']), 65_534, 65_534)
    const { code, stdout, stderr } = await logferry(['spool', command, spool.directory])
    expect(code).toBe(expected)
    expect(stdout + stderr).toMatch(message)
    expect(stdout).toMatch(/"n":0|n=0|1 event in 1 segment is intact/)
  })
})

/** Stops the command while it writes for the first time. */
const stopAtOnce = `data:text/javascript,${encodeURIComponent(`
  const { write } = process.stdout
  process.stdout.write = function (...given) { process.emit('SIGTERM'); return write.apply(this, given) }`)}`

describe.concurrent('logferry spool show', () => {
  it('keeps the order of events of several datasets within a millisecond', async () => {
    using spool = makeSpool()
    await leaveByKill(spool.directory, 'dataset: ({ n }) => "d" + (n % 3)', 300)
    const { stdout } = await logferry(['spool', 'show', spool.directory, '--json', '--limit', '300'])
    const numbers = stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line).n)
    expect(numbers).toEqual(Array.from({ length: 300 }, (_, n) => n))
  })

  it('prints the events that match a query, oldest first, and changes nothing', async () => {
    using spool = makeSpool()
    await leaveByKill(spool.directory, 'dataset: ({ n }) => (n % 2 ? "odd" : "even")', 5)
    const before = spool.files()
    const { code, stdout, stderr } = await logferry(['spool', 'show', spool.directory, 'n:>=1', 'NOT n:3', '--json'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const events = stdout.trimEnd().split('\n')
    expect(events.map(line => JSON.parse(line).n)).toEqual([1, 2, 4])
    const human = await logferryInTurn([
      'spool',
      'show',
      spool.directory,
      '--dataset',
      'odd',
      '--utc',
      '--color',
      'never',
    ])
    expect(human.stdout).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} ○ INFO {2}odd {7}n=1\n {13}n=1\n.* ○ INFO {2}odd {7}n=3\n {13}n=3\n$/,
    )
    expect(spool.files()).toEqual(before)
  })

  it('exits with 0 if nothing matches, and with 3 if --exit-code asks for it', async () => {
    using spool = makeSpool()
    await leaveByKill(spool.directory, '', 2)
    const args = ['spool', 'show', spool.directory, 'n:77']
    expect(await logferryInTurn(args)).toMatchObject({ code: 0, stdout: '' })
    expect(await logferryInTurn([...args, '--exit-code'])).toMatchObject({ code: 3, stdout: '' })
  })

  it('prints the newest events if there are more than --limit, and says so', async () => {
    using spool = makeSpool()
    await leaveByKill(spool.directory, '', 5)
    const { stdout, stderr } = await logferryInTurn(['spool', 'show', spool.directory, '--limit', '2', '--logfmt'])
    expect(stdout).toMatch(
      /^time=\S+Z level=info dataset=d msg="n=3" n=3\ntime=\S+Z level=info dataset=d msg="n=4" n=4\n$/,
    )
    expect(stderr).toMatch(/more events match than the newest 2\. Raise/)
  })

  it('knows the times of events that were added to a file long after the first', async () => {
    using spool = makeSpool()
    const start = Date.now()
    const seconds = [0, 8, 60, 61]
    const timeAfter = (second: number) => new Date(start + second * 1000).toISOString()
    const lines = seconds.map(second => `{"_time":"${timeAfter(second)}","n":${second}}\n`)
    const file = join(craft(spool.directory, 'd', lines), '000000000001.segment')
    fs.utimesSync(file, new Date(), new Date(start + 70_000))
    const show = async (...options: string[]) =>
      (await logferryInTurn(['spool', 'show', spool.directory, ...options])).stdout
    expect(await show('--json')).toBe(lines.join(''))
    expect(await show('--json', '--since', timeAfter(9))).toBe(lines.slice(2).join(''))
    expect(await show('is:clock')).toBe('')
    const { stdout } = await logferryInTurn(['spool', 'export', spool.directory, '--meta'])
    expect(stdout).toContain(`"written":"${timeAfter(60)}","event":{"_time":"${timeAfter(60)}"`)
  })

  it('prints a part at a time, and nothing more after a signal', async () => {
    using spool = makeSpool()
    await leaveByKill(spool.directory, '', 3000)
    const { code, stdout } = await logferry(['spool', 'show', spool.directory, '--logfmt', '--limit', '3000'], {}, [
      '--import',
      stopAtOnce,
    ])
    expect(code).toBe(0)
    expect(stdout.trimEnd().split('\n').length).toBeLessThan(2000)
  })

  it('shows the events of a running process, and leaves it its spool', async () => {
    using spool = makeSpool()
    await using running = startLogging(spool.directory, 4)
    await running.until(/logged/)
    const { stdout } = await logferryInTurn(['spool', 'show', spool.directory, '--json'])
    expect(stdout.trimEnd().split('\n')).toHaveLength(4)
    expect((await logferryInTurn(['spool', 'ls', spool.directory])).stdout).toMatch(/ in use +4 /)
  })

  it('prints no character that a terminal would obey, whatever is in an event', async () => {
    using spool = makeSpool()
    const text = hostileText('said')
    const event = {
      level: 'error',
      message: text,
      [text.slice(0, 300)]: text,
      stack: `Error\n at ${text}`,
      deep: [[[text]]],
    }
    const nested = `{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}\n`
    craft(spool.directory, 'd\u202e\u009b2J', [`${JSON.stringify(event)}\n`, nested, '{"__proto__":{"x":1}}\n'])
    for (const format of ['--color=always', '--json', '--logfmt', '--json --meta', '--fields=deep,a,__proto__.x']) {
      const { code, stdout, stderr } = await logferryInTurn(['spool', 'show', spool.directory, ...format.split(' ')])
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the colors are ours
      expect(stdout.replace(/\u001b\[\d+m/g, '')).not.toMatch(unprintable)
      expect(stdout).not.toMatch(/^ *logferry: forged/m)
      if (format.startsWith('--json')) for (const line of stdout.trimEnd().split('\n')) JSON.parse(line)
    }
  })
})

describe.concurrent('logferry spool verify', () => {
  it('exits with 0 if every event is intact, also those of a running process', async () => {
    using spool = makeSpool()
    await using running = startLogging(spool.directory, 4)
    await running.until(/logged/)
    await leaveByClose(spool.directory, 3)
    const { code, stdout, stderr } = await logferry(['spool', 'verify', spool.directory])
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '7 events in 2 segments are intact.\n', stderr: '' })
  })

  it('exits with 1 for a damaged event, and names its place', async () => {
    using spool = makeSpool()
    await leaveByClose(spool.directory, 10)
    spool.damage()
    const before = spool.files()
    const { code, stdout } = await logferryInTurn(['spool', 'verify', spool.directory])
    expect(code).toBe(1)
    expect(stdout).toMatch(/^\S+Z-[0-9a-f]{8}\/000000000001\.segment: bytes \d+ to \d+ are damaged$/m)
    expect(stdout).toMatch(/^9 events in 1 segment are intact\.$/m)
    expect(stdout).toMatch(/^1 event is damaged or missing\. Check the disk\.$/m)
    expect(spool.files()).toEqual(before)
  })

  it('finds a segment whose end is missing, records that are no events, and lines that are no refused events', async () => {
    using spool = makeSpool()
    await leaveByClose(spool.directory, 3)
    const [torn = ''] = spool.segments()
    fs.truncateSync(torn, fs.statSync(torn).size - 40)
    craft(spool.directory, 'd', ['{"n":1}\n', '[1]\n', 'text\n'])
    const letters = '{"dataset":"d","event":{"n":1},"reason":"r"}\n\nnot json\n[]\n{"event":{}}\n'
    fs.writeFileSync(join(spool.directory, 'rejected.ndjson'), letters)
    const { code, stdout } = await logferryInTurn(['spool', 'verify', spool.directory, '--json'])
    expect(code).toBe(1)
    const { damaged, rejected, ...counts } = JSON.parse(stdout)
    expect(counts).toMatchObject({ isIntact: false, segments: 2, events: 3, lost: 3, damagedSegments: 2 })
    const noEvent = { kind: 'no-event', reason: 'it is not one JSON object on one line' }
    expect(damaged).toMatchObject([
      { dataset: 'd', events: 1, lost: 2, isSealed: true, problems: [noEvent, noEvent] },
      { dataset: 'd', events: 2, lost: 1, isSealed: false, problems: [{ kind: 'damaged' }] },
    ])
    expect(rejected).toEqual([
      {
        file: 'rejected.ndjson',
        letters: 4,
        unreadableCount: 3,
        unreadable: [
          { line: 3, reason: 'it is no JSON' },
          { line: 4, reason: 'it is no JSON object' },
          { line: 5, reason: 'its dataset is missing, or no valid name' },
        ],
      },
    ])
    const inWords = await logferryInTurn(['spool', 'verify', spool.directory])
    expect(inWords.stdout).toMatch(/^rejected\.ndjson: 1 refused event$/m)
  })
})

describe.concurrent('logferry spool export', () => {
  it('writes each event as it would be sent, one line each', async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    await leaveByKill(spool.directory, 'dataset: ({ n }) => (n % 2 ? "odd" : "even")', 5, emulator.url)
    const { code, stdout, stderr } = await logferry(['spool', 'export', spool.directory])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const odd = await logferryInTurn(['spool', 'export', spool.directory, '--dataset', 'odd', '--meta'])
    await logferryInTurn(['spool', 'send', spool.directory], environmentFor(emulator))
    const sent = [...emulator.lines('even'), ...emulator.lines('odd')]
    expect(stdout.trimEnd().split('\n').sort()).toEqual(sent.sort())
    const written = odd.stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    const aTime = expect.stringMatching(/^\d{4}-.*Z$/)
    expect(written).toEqual(emulator.events('odd').map(event => ({ dataset: 'odd', written: aTime, event })))
  })

  it('writes what is intact, and exits with 1 if something is damaged', async () => {
    using spool = makeSpool()
    await leaveByClose(spool.directory, 10)
    spool.damage()
    const { code, stdout, stderr } = await logferry(['spool', 'export', spool.directory])
    expect({ code, count: stdout.trimEnd().split('\n').length }).toEqual({ code: 1, count: 9 })
    expect(stderr).toMatch(/1 damaged event left out/)
  })
})

describe('logferry spool export', () => {
  it('exits with 1 if the disk takes only the beginning of the output of spool export', async context => {
    using spool = makeSpool()
    await leaveByKill(spool.directory, '', 5000)
    const path = join(spool.directory, '..', 'full')
    fs.mkdirSync(path)
    using disk = mounted(path, 'size=64k')
    if (disk === undefined) return context.skip()
    const file = fs.openSync(join(path, 'events.ndjson'), 'w')
    const args = [main, 'spool', 'export', spool.directory]
    const { status, stderr } = runSync(process.execPath, args, { stdio: ['ignore', file, 'pipe'] })
    fs.closeSync(file)
    expect([status, stderr]).toEqual([1, expect.stringMatching(/output cannot be written \(ENOSPC\)/)])
  })

  it.each(['export', 'show'])('exits with 1 if the output of spool %s cannot be written', async name => {
    using spool = makeSpool()
    await leaveByClose(spool.directory, 10)
    const full = fs.openSync('/dev/full', 'w')
    const { status, stderr } = runSync(process.execPath, [main, 'spool', name, spool.directory], {
      stdio: ['ignore', full, 'pipe'],
    })
    fs.closeSync(full)
    expect([status, stderr]).toEqual([1, expect.stringMatching(/output cannot be written \(ENOSPC\)/)])
  })

  it('exits with 1 if it is stopped before the end', async () => {
    using spool = makeSpool()
    await leaveByKill(spool.directory, 'dataset: ({ n }) => "d" + n', 3)
    const { code, stdout, stderr } = await logferry(['spool', 'export', spool.directory], {}, ['--import', stopAtOnce])
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/stopped before the end/) })
    expect(stdout.trimEnd().split('\n')).toHaveLength(1)
  })
})

describe.concurrent('logferry spool send --to', () => {
  it('sends nothing to another address unless this is confirmed', async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    await leaveByKill(spool.directory, '', 3)
    const before = spool.files()
    const args = ['spool', 'send', spool.directory, '--to', emulator.url]
    const { code, stdout, stderr } = await logferry(args, { LOGFERRY_TOKEN: emulator.token })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(`Give --yes to confirm: Send 3 events for ${nowhere}/ to ${emulator.url} instead?`)
    expect(spool.files()).toEqual(before)
    expect(emulator.stats().requests).toBe(0)
  })

  it.skipIf(process.platform !== 'linux').each([
    ['n', 1, 3, /Nothing was sent\./],
    ['', 1, 3, /Nothing was sent\./],
    ['y', 0, 0, /Delivered: 3 events/],
  ])('asks on a terminal, and takes the answer "%s"', async (answer, exitCode, left, said) => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    await leaveByKill(spool.directory, '', 3)
    const { code, output } = await onTerminal(
      ['spool', 'send', spool.directory, '--to', emulator.url],
      { LOGFERRY_TOKEN: emulator.token },
      answer,
    )
    expect({ code, output }).toEqual({ code: exitCode, output: expect.stringMatching(said) })
    expect(emulator.eventCount('d')).toBe(3 - left)
    expect(spool.segments()).toHaveLength(left === 0 ? 0 : 1)
  })

  it('sends the events for every service there, and reports as JSON', async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    await leaveByKill(spool.directory, '', 2)
    await leaveByKill(spool.directory, 'orgId: "another"', 3)
    await leaveByKill(spool.directory, '', 4, emulator.url)
    const args = ['spool', 'send', spool.directory, '--to', emulator.url, '--yes', '--json']
    const { code, stdout } = await logferryInTurn(args, { LOGFERRY_TOKEN: emulator.token })
    expect({ code, report: JSON.parse(stdout) }).toEqual({
      code: 0,
      report: {
        directory: spool.directory,
        ending: 'done',
        ...{ delivered: 9, refused: 0, lost: 0 },
        stillThere: { processes: [] },
        elsewhere: [],
        inUse: 0,
        foreignDirectories: 0,
        unreadableDirectories: {},
      },
    })
    expect(emulator.eventCount('d')).toBe(9)
    expect(spool.files()).toEqual([])
  })

  it('leaves what it cannot deliver to its own service', async () => {
    using spool = makeSpool()
    await using other = await startEmulator()
    await using own = await startEmulator()
    other.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    await leaveByKill(spool.directory, '', 3, own.url)
    const args = ['spool', 'send', spool.directory, '--to', other.url, '--yes']
    await using running = startLogferry(args, { LOGFERRY_TOKEN: other.token })
    await running.until(/Delivered so far: 0 events/)
    expect(await running.end('SIGINT')).toBe(1)
    expect(running.stdout()).toMatch(/^Delivered: 0 events\nStill there: 3 events in 1 directory/)
    const sent = await logferry(['spool', 'send', spool.directory], environmentFor(own))
    expect(sent).toMatchObject({ code: 0, stdout: 'Delivered: 3 events\n' })
    expect(own.eventCount('d')).toBe(3)
  })
})

it('shows on a terminal how far it has read a large spool', async () => {
  using spool = makeSpool()
  await using own = await startEmulator()
  await leaveByKill(spool.directory, '', 3, own.url)
  // A disk that takes 700 ms for a file, in place of 100,000 files.
  const slow =
    "import fs from 'node:fs';const {stat}=fs.promises;import {setTimeout as delay} from 'node:timers/promises';fs.promises.stat=async(...a)=>{await delay(700);return stat(...a)}"
  const environment = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(slow)}` }
  for (const command of ['ls', 'send']) {
    const { output } = await onTerminal(
      ['spool', command, spool.directory],
      { ...environmentFor(own), ...environment },
      '',
    )
    expect(output).toContain('\rReading the spool: 0 events so far\u001b[K\r\u001b[K')
    expect(output).toMatch(command === 'ls' ? /left behind +3 / : /Delivered: 3 events/)
    const piped = await logferry(['spool', command, spool.directory], { ...environmentFor(own), ...environment })
    expect(piped.stderr).not.toContain('Reading')
  }
})

/** Runs the command on a terminal, and answers its question. */
async function onTerminal(args: readonly string[], environment: Record<string, string>, answer: string) {
  const line = [process.execPath, main, ...args].map(word => `'${word}'`).join(' ')
  const child = spawn('script', ['-qec', line, '/dev/null'], { env: { ...surroundings(), ...environment } })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    if (!output.includes('[y/N]') && `${output}${text}`.includes('[y/N]')) child.stdin.write(`${answer}\n`)
    output += text
  })
  const [code] = await once(child, 'close')
  return { code, output }
}
