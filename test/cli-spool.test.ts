/** The spool commands of the built package, with files that real processes have left. */
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Emulator, startEmulator } from '../src/emulator.ts'
import { unprintable } from './support/hostile-text.ts'
import { logferry, logferryInTurn, startLogferry } from './support/logferry.ts'
import { environmentFor, leaveByClose, leaveByKill, makeSpool, nowhere, startLogging } from './support/spool-of-test.ts'

describe.concurrent('logferry spool ls', () => {
  it('lists the events of a killed process, and changes nothing', async () => {
    using spool = makeSpool()
    await leaveByKill(spool.directory, 'dataset: ({ n }) => (n % 2 ? "odd" : "even")', 5)
    const before = spool.files()
    const { code, stdout, stderr } = await logferry(['spool', 'ls', spool.directory])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const [head, line, total] = stdout.split('\n')
    expect(head).toMatch(/^directory +state +events +segments +bytes +damaged +oldest +newest +service +datasets$/)
    const aTime = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`
    expect(line).toMatch(
      new RegExp(`^\\S+Z-[0-9a-f]{8} +left behind +5 +2 +\\d+ +0 +${aTime} +${aTime} +${nowhere}/ +even, odd$`),
    )
    expect(total).toMatch(/^total +5 +2 +\d+ +0$/)
    expect(stdout).toMatch(/\n\nThe next process .* delivers what is left behind, or `logferry spool send` does\.\n$/)
    expect(spool.files()).toEqual(before)
  })

  it('lists the events of a closed shipper as JSON with --json', async () => {
    using spool = makeSpool()
    const startedAtMs = Date.now()
    await leaveByClose(spool.directory, 3)
    const { code, stdout } = await logferry(['spool', 'ls', '--directory', spool.directory, '--json'])
    expect(code).toBe(0)
    const { processes, ...others } = JSON.parse(stdout)
    const counts = { segments: 1, events: 3, bytes: expect.any(Number), damaged: 0 }
    const none = { segments: 0, events: 0, bytes: 0, damaged: 0 }
    expect(processes).toEqual([
      {
        ...counts,
        name: expect.stringMatching(/^\d{8}T\d{6}Z-[0-9a-f]{8}-http%3a%2f%2f127\.0\.0\.1%3a1%2f$/),
        isInUse: false,
        destination: `${nowhere}/`,
        datasets: { d: 3 },
        oldest: expect.any(String),
        newest: expect.any(String),
      },
    ])
    const [oldestMs, newestMs] = [Date.parse(processes[0].oldest), Date.parse(processes[0].newest)]
    expect(oldestMs).toBeGreaterThanOrEqual(startedAtMs)
    expect(newestMs).toBeGreaterThanOrEqual(oldestMs)
    expect(newestMs).toBeLessThanOrEqual(Date.now())
    const refused = { rejected: 0, resending: 0 }
    const left = {
      directory: spool.directory,
      ...refused,
      foreignDirectories: 0,
      unreadableDirectories: {},
      leftBehind: counts,
      inUse: none,
    }
    expect(others).toEqual(left)
  })

  it('shows the directory of a running process as in use, and leaves it alone', async () => {
    using spool = makeSpool()
    await using running = startLogging(spool.directory, 4)
    await running.until(/logged/)
    const { stdout } = await logferryInTurn(['spool', 'ls', spool.directory])
    expect(stdout).toMatch(/Z-[0-9a-f]{8} +in use +4 /)
    expect(stdout).not.toMatch(/spool send/)
    await running.end('SIGKILL')
    expect((await logferryInTurn(['spool', 'ls', spool.directory])).stdout).toMatch(/Z-[0-9a-f]{8} +left behind +4 /)
  })

  it('counts damaged records and refused events', async () => {
    using spool = makeSpool()
    await leaveByClose(spool.directory, 10)
    spool.damage()
    fs.writeFileSync(join(spool.directory, 'rejected.ndjson'), '{"n":1}\n{"n":2}\n')
    fs.writeFileSync(join(spool.directory, 'rejected.1.ndjson'), '{"n":0}\n')
    const { code, stdout } = await logferryInTurn(['spool', 'ls', spool.directory])
    expect(code).toBe(0)
    expect(stdout).toMatch(/left behind +9 +1 +\d+ +1 /)
    expect(stdout).toMatch(/^1 record is damaged or missing\. `logferry spool verify` names each\.$/m)
    expect(stdout).toMatch(/^3 refused events in rejected\.ndjson\.$/m)
  })

  it('prints names of services and datasets as printable text, and as complete JSON, and so does `spool send`', async () => {
    using spool = makeSpool()
    const dataset = 'd\u009b2J\u202e\u2028logferry: forged'
    await leaveByKill(spool.directory, `dataset: ${JSON.stringify(dataset)}`, 2)
    const [name = ''] = fs.readdirSync(spool.directory)
    const bare = name.split('-', 2).join('-')
    const destination = 'http://x/\u001b[2J\nlogferry: forged\u009b31m'
    const escaped = destination.replaceAll(/[^\w.-]/g, one => `%${one.charCodeAt(0).toString(16).padStart(2, '0')}`)
    fs.renameSync(join(spool.directory, name), join(spool.directory, `${bare}-${escaped}`))
    const inWords = await logferryInTurn(['spool', 'ls', spool.directory])
    const inJson = await logferryInTurn(['spool', 'ls', spool.directory, '--json'])
    const sent = await logferryInTurn(['spool', 'send', spool.directory], {
      LOGFERRY_URL: nowhere,
      LOGFERRY_TOKEN: 'a-token',
    })
    for (const { stdout, stderr } of [inWords, inJson, sent]) {
      expect(stdout + stderr).not.toMatch(unprintable)
      expect(stdout + stderr).not.toMatch(/^ *logferry: forged/m)
    }
    expect(inWords.stdout).toContain('http://x/ [2J logferry: forged 31m')
    expect(JSON.parse(inJson.stdout).processes).toMatchObject([{ destination, datasets: { [dataset]: 2 } }])
    expect(sent.stdout).toContain('Left alone: 2 events for another service (http://x/ [2J logferry: forged 31m), in ')
  })

  it('uses file times for events without a time of their own', async () => {
    using spool = makeSpool()
    await leaveByKill(spool.directory, 'timeField: "at"', 2)
    const [segment] = spool.segments()
    fs.utimesSync(segment as string, 1e9, 1e9)
    const { stdout } = await logferryInTurn(['spool', 'ls', spool.directory, '--json'])
    expect(JSON.parse(stdout).processes).toMatchObject([{ oldest: '2001-09-09T01:46:40.000Z' }])
  })

  it.runIf(process.getuid?.() === 0)('counts directories that belong to another user', async () => {
    using spool = makeSpool()
    await leaveByKill(spool.directory, '', 2)
    const [name = ''] = fs.readdirSync(spool.directory)
    fs.chownSync(join(spool.directory, name), 65_534, 65_534)
    fs.mkdirSync(join(spool.directory, 'lost+found')) // such as the directory of a volume, which is ignored
    fs.chownSync(join(spool.directory, 'lost+found'), 65_534, 65_534)
    const { code, stdout } = await logferryInTurn(['spool', 'ls', spool.directory])
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /1 directory belongs to another user, .*Run this as the user that the application runs as\.$/m,
    )
    const sent = await logferry(['spool', 'send', spool.directory])
    expect(sent.code).toBe(1)
    expect(sent.stdout).toMatch(/1 directory belongs to another user/)
  })

  it.runIf(process.getuid?.() === 0)('refuses a spool that another user may write to, and so does `send`', async () => {
    using spool = makeSpool()
    await leaveByKill(spool.directory, '', 2)
    fs.chmodSync(spool.directory, 0o777)
    const refusal = /^logferry: \S+ is not used, because any user may write to \S+; run chmod o-w on it\./
    for (const command of ['ls', 'send']) {
      const refused = await logferryInTurn(
        ['spool', command, spool.directory],
        environmentFor({ url: nowhere, token: 'a-token' }),
      )
      expect(refused).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(refusal) })
    }
    fs.chmodSync(spool.directory, 0o700)
    fs.chownSync(spool.directory, 1234, 1234)
    const { code, stderr } = await logferryInTurn(['spool', 'ls', spool.directory])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/belongs to another user \(id 1234\)/),
    })
  })

  it('says that no events wait in an empty spool', async () => {
    using spool = makeSpool()
    const stdout = `No events wait in ${spool.directory}.\n`
    expect(await logferryInTurn(['spool', 'ls', spool.directory])).toEqual({ code: 0, stdout, stderr: '' })
  })
})

describe.concurrent('logferry spool send', () => {
  it('delivers each event that was left behind to its dataset, and empties the spool', async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    await leaveByKill(spool.directory, 'dataset: ({ n }) => (n % 2 ? "odd" : "even")', 5, emulator.url)
    await leaveByClose(spool.directory, 3, emulator)
    const { code, stdout, stderr } = await send(spool.directory, emulator)
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Delivered: 8 events\n' })
    // The closed shipper may still be reading what the killed one left, when the command counts.
    expect(stderr).toMatch(/^Delivering [38] events …\n$/)
    expect(numbers(emulator, 'even')).toEqual([0, 2, 4])
    expect(numbers(emulator, 'odd')).toEqual([1, 3])
    expect(numbers(emulator, 'd')).toEqual([0, 1, 2])
    expect(spool.files()).toEqual([])
    const again = `Nothing is left behind in ${spool.directory}.\n`
    expect(await send(spool.directory, emulator)).toEqual({ code: 0, stdout: again, stderr: '' })
  })

  it('uses plain http to a host other than loopback only with --allow-insecure', async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    const insecure = { url: emulator.url.replace('127.0.0.1', '[::ffff:127.0.0.1]'), token: emulator.token }
    await leaveByKill(spool.directory, 'allowInsecure: true', 2, insecure.url)
    const args = ['spool', 'send', spool.directory]
    const refused = await logferryInTurn(args, environmentFor(insecure))
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringMatching(/must be an https:.*--allow-insecure/) })
    expect(await logferryInTurn([...args, '--allow-insecure'], environmentFor(insecure))).toMatchObject({ code: 0 })
    expect(numbers(emulator, 'd')).toEqual([0, 1])
  })

  it('leaves the events of running processes alone, and reports them', async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    await using running = startLogging(spool.directory, 4)
    await running.until(/logged/)
    await leaveByKill(spool.directory, '', 2, emulator.url)
    const { code, stdout } = await send(spool.directory, emulator)
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'Delivered: 2 events\nLeft alone: 4 events of running processes\n',
    })
    expect(numbers(emulator, 'd')).toEqual([0, 1])
  })

  it('reports refused events and where they are kept', async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    emulator.faults.rejectEvents(({ n }) => n === 1, 'no ones')
    await leaveByKill(spool.directory, '', 3, emulator.url)
    const { code, stdout, stderr } = await send(spool.directory, emulator)
    const path = join(spool.directory, 'rejected.ndjson')
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `Delivered: 2 events\nRefused by the service: 1 event, now in ${path}\n`,
    })
    expect(stderr).toMatch(/the service refused 1 event for dataset "d" \(no ones\)/)
    expect(JSON.parse(fs.readFileSync(path, 'utf8'))).toMatchObject({ reason: 'no ones', event: { n: 1 } })
  })

  it('keeps every refused event, however many there are', { timeout: 60_000 }, async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    emulator.faults.rejectEvents(({ n }) => Number(n) % 2 === 1, 'no odd ones')
    const padded = "transform: event => ({ ...event, text: 'x'.repeat(6000) })"
    await leaveByKill(spool.directory, padded, 6000, emulator.url)
    const { code, stdout } = await send(spool.directory, emulator)
    const path = join(spool.directory, 'rejected.ndjson')
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `Delivered: 3,000 events\nRefused by the service: 3,000 events, now in ${path}\n`,
    })
    expect(fs.readFileSync(path, 'utf8').split('\n')).toHaveLength(3001)
    expect(fs.statSync(path).size).toBeGreaterThan(2 * 8_388_608)
  })

  it('reports refused events that cannot be kept as lost', async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    emulator.faults.rejectEvents(({ n }) => n === 1, 'no ones')
    await leaveByKill(spool.directory, '', 3, emulator.url)
    const path = join(spool.directory, 'rejected.ndjson')
    fs.writeFileSync(path, '', { mode: 0o600 })
    fs.linkSync(path, join(spool.directory, '..', 'second-name'))
    const { code, stdout, stderr } = await send(spool.directory, emulator)
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'Delivered: 2 events\nLost: 1 event; the warnings say why\n' })
    expect(stderr).toContain('has a second hard link')
  })

  it('reports damaged events, and delivers the rest', async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    await leaveByClose(spool.directory, 10, emulator)
    spool.damage()
    const { code, stdout, stderr } = await send(spool.directory, emulator)
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'Delivered: 9 events\nLost: 1 event; the warnings say why\n' })
    // The damage may be where the file names the dataset: the lengths before it depend on the port of the service.
    expect(stderr).toMatch(/the spool in .* is damaged\. Lost events(?: for dataset "d")?: 1\. Check the disk\./)
    expect(emulator.eventCount('d')).toBe(9)
  })

  it('tries until --timeout, and leaves all events in place while the service is down', async () => {
    using spool = makeSpool()
    await leaveByKill(spool.directory, '', 3)
    const options = ['--url', nowhere, '--timeout', '0.5']
    const { code, stdout, stderr } = await logferry(['spool', 'send', spool.directory, ...options], {
      LOGFERRY_TOKEN: 'some-secret',
    })
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: 'Delivered: 0 events\nStill there: 3 events in 1 directory, because the time was up\n',
    })
    expect(stderr).toMatch(/^Delivering 3 events …\n/)
    expect(stderr).not.toMatch(/secret|left to|could not be delivered/)
    expect((await logferryInTurn(['spool', 'ls', spool.directory])).stdout).toMatch(/left behind +3 /)
  })

  it('says why nothing is delivered, and delivers the events the next time', async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    await leaveByKill(spool.directory, '', 3, emulator.url)
    const wrong = environmentFor({ url: emulator.url, token: 'wrong-secret' })
    await using running = startLogferry(['spool', 'send', spool.directory], wrong)
    await running.until(/delivery to dataset "d" is paused: the service answers 403.*Check that the token/)
    expect(await running.end('SIGINT')).toBe(1)
    expect(running.stdout() + running.stderr()).not.toMatch(/secret/)
    expect((await send(spool.directory, emulator)).stdout).toBe('Delivered: 3 events\n')
    expect(numbers(emulator, 'd')).toEqual([0, 1, 2])
  })

  it('leaves events for another service or organization alone, reports them, and exits with 1', async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    await leaveByKill(spool.directory, '', 2)
    await leaveByKill(spool.directory, 'orgId: "another"', 3, emulator.url)
    await leaveByKill(spool.directory, '', 4, emulator.url)
    const { code, stdout } = await send(spool.directory, emulator)
    const [delivered, ...others] = stdout.trimEnd().split('\n')
    expect([code, delivered]).toEqual([1, 'Delivered: 4 events'])
    const alone = (what: string) => new RegExp(`^Left alone: ${what}, in [0-9TZ]+-`)
    expect(others.sort()).toEqual([
      expect.stringMatching(alone(`2 events for another service \\(${nowhere}/\\)`)),
      expect.stringMatching(alone(`3 events for another service \\(${emulator.url}/#another\\)`)),
    ])
    expect(numbers(emulator, 'd')).toEqual([0, 1, 2, 3])
    const organization = { ...environmentFor(emulator), LOGFERRY_ORG_ID: 'another' }
    expect((await logferry(['spool', 'send', spool.directory], organization)).stdout).toMatch(/^Delivered: 3 events\n/)
    // The service has moved.
    for (const name of fs.readdirSync(spool.directory)) {
      fs.renameSync(join(spool.directory, name), join(spool.directory, name.split('-', 2).join('-')))
    }
    expect(await send(spool.directory, emulator)).toMatchObject({ code: 0, stdout: 'Delivered: 2 events\n' })
  })

  it.concurrent.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'ends on %s, reports its progress, and leaves the rest',
    async signal => {
      using spool = makeSpool()
      await using emulator = await startEmulator()
      emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
      await leaveByKill(spool.directory, '', 3, emulator.url)
      await using running = startLogferry(['spool', 'send', spool.directory], environmentFor(emulator))
      await running.until(/Delivered so far: 0 events/)
      expect(await running.end(signal)).toBe(1)
      expect(running.stdout()).toBe(
        'Delivered: 0 events\nStill there: 3 events in 1 directory, because the command was stopped\n',
      )
      emulator.faults.clear()
      expect((await send(spool.directory, emulator)).stdout).toBe('Delivered: 3 events\n')
    },
  )

  it('reports its progress also if a terminal and npm send SIGINT one after the other', async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    await leaveByKill(spool.directory, '', 3, emulator.url)
    const again = "process.once('SIGINT', () => setTimeout(() => process.kill(process.pid, 'SIGINT'), 2))"
    const preload = `data:text/javascript,${encodeURIComponent(again)}`
    const args = ['spool', 'send', spool.directory]
    await using running = startLogferry(args, environmentFor(emulator), ['--import', preload])
    await running.until(/Delivered so far: 0 events/)
    expect(await running.end('SIGINT')).toBe(1)
    expect(running.stdout()).toMatch(/^Delivered: 0 events\nStill there: 3 events/)
  })

  it.each([
    ['no token', { LOGFERRY_URL: nowhere }, /no token given\. .* A token is never given on the command line\./],
    ['no address', { LOGFERRY_TOKEN: 't' }, /no address given\. .* or give --url/],
  ])('exits with 2 for %s, and names the remedy', async (_, environment, message) => {
    using spool = makeSpool()
    await leaveByKill(spool.directory, '', 1)
    const { code, stdout, stderr } = await logferryInTurn(['spool', 'send', spool.directory], environment)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })
})

describe.concurrent('misuse of logferry spool', () => {
  const all = ['ls', 'show', 'verify', 'export', 'send', 'resend-rejected']

  it.each(all)('says that a file is no directory: %s', async command => {
    using spool = makeSpool()
    const file = join(spool.directory, 'file')
    fs.writeFileSync(file, '')
    const stderr = `logferry: ${file} is not a directory. Check the path.\n`
    expect(await logferryInTurn(['spool', command, file])).toEqual({ code: 1, stdout: '', stderr })
  })

  it('names the spool if the directory of one process is given', async () => {
    using spool = makeSpool()
    await leaveByKill(spool.directory, '', 1)
    const [name = ''] = fs.readdirSync(spool.directory)
    const { code, stdout, stderr } = await logferry(['spool', 'verify', join(spool.directory, name)])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(`is the directory of one process. Give the spool, which is ${spool.directory}.`)
  })

  it('says if a directory holds other files, and none of a spool', async () => {
    using spool = makeSpool()
    fs.mkdirSync(join(spool.directory, 'lost+found'))
    const args = ['spool', 'ls', spool.directory]
    expect(await logferryInTurn(args)).toMatchObject({ code: 0, stderr: '' })
    fs.writeFileSync(join(spool.directory, 'server.js'), '')
    const hint = `logferry: ${spool.directory} holds no files of a spool. Is it the directory of the option spool?\n`
    expect(await logferryInTurn(args)).toMatchObject({ code: 0, stderr: hint })
    expect(await logferryInTurn(['spool', 'show', spool.directory])).toEqual({ code: 0, stdout: '', stderr: hint })
    fs.writeFileSync(join(spool.directory, 'rejected.ndjson'), '')
    expect(await logferryInTurn(args)).toMatchObject({ code: 0, stderr: '' })
  })

  it.each(all)('exits with 1 if the directory does not exist: %s', async command => {
    const directory = join(tmpdir(), 'logferry-no-such-directory')
    const stderr = `logferry: the directory ${directory} does not exist. Check the path.\n`
    expect(await logferryInTurn(['spool', command, directory])).toEqual({ code: 1, stdout: '', stderr })
    expect(fs.existsSync(directory)).toBe(false)
  })

  it.each([
    [['spool', 'ls'], "no directory given. Give the directory of the application's option spool.", 'spool ls'],
    [['spool', 'send', '--directory='], 'no directory given.', 'spool send'],
    [
      ['spool', 'ls', 'one', 'two'],
      "too many arguments for 'ls'. Expected 1 argument but got 2: one, two.",
      'spool ls',
    ],
    [['spool', 'ls', 'one', '--directory', 'two'], 'directory is given twice', 'spool ls'],
    [['spool', 'send', 'one', '--fields', 'n'], "unknown option '--fields'", 'spool send'],
    [['spool', 'send', 'one', '--yes'], '--yes has an effect with --to only', 'spool send'],
    [['spool', 'send', 'one', '--to', 'there'], '--to must be the address of a service', 'spool send'],
    [['spool', 'send', 'one', '--to', 'http://a', '--url', 'http://b'], '--to and --url exclude', 'spool send'],
    [['spool', 'show'], 'no directory given.', 'spool show'],
    [['spool', 'show', 'one', '--json', '--logfmt'], '--json and --logfmt exclude each other', 'spool show'],
    [['spool', 'resend-rejected'], 'no directory given.', 'spool resend-rejected'],
    [['spool', 'send', 'one', '--timeout', 'soon'], '--timeout must be a number of seconds above 0, up', 'spool send'],
    [['spool', 'send', 'one', '--timeout', '0'], '--timeout must be a number of seconds above 0, up', 'spool send'],
  ])('exits with 2 for %j, and names the command whose help to read', async (args, problem, name) => {
    const { code, stdout, stderr } = await logferryInTurn(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(`logferry: ${problem}`)
    expect(stderr).toContain(`\nRun 'logferry ${name} --help' for help.\n`)
  })

  it.each([
    [['spool', 'ls', '--help'], 'spool ls'],
    [['spool', 'send', '-h'], 'spool send'],
  ])('shows help for %j', async (args, usage) => {
    const { code, stdout, stderr } = await logferryInTurn(args)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(new RegExp(`^Usage: logferry ${usage} `))
  })
})

function send(directory: string, service: Emulator) {
  return logferryInTurn(['spool', 'send', directory], environmentFor(service))
}

function numbers(emulator: Emulator, dataset: string): number[] {
  return emulator
    .events(dataset)
    .map(({ n }) => n as number)
    .sort()
}
