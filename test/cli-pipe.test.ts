/** `logferry pipe` as it is built and installed, in processes of its own. */
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Emulator, startEmulator } from '../src/emulator.ts'
import { unprintable } from './support/hostile-text.ts'
import { logferryInTurn } from './support/logferry.ts'
import { startProgram } from './support/start-node.ts'
import { main, pipe, startPipe } from './support/start-pipe.ts'
import { until } from './support/until.ts'

const MiB = 1_048_576

describe.concurrent('logferry pipe', () => {
  it('ships each JSON object as an event, and each other line as the message of an event', async () => {
    await using emulator = await startEmulator()
    const input =
      '{"level":30,"msg":"a"}\nplain \u2603\r\n\n  {"b":{"c":[1,null]}} \n[1]\n"d"\n{"broken":\n{}\n{ }\n\tindented'
    const { code, stderr } = await pipe(emulator, input)
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'Read 10 lines, delivered 9 events.\nSkipped: 1 blank line.\n',
    })
    expect(emulator.events('d').map(({ _time, ...event }) => event)).toEqual([
      { level: 30, msg: 'a' },
      { message: 'plain \u2603' },
      { b: { c: [1, null] } },
      { message: '[1]' },
      { message: '"d"' },
      { message: '{"broken":' },
      {},
      {},
      { message: '\tindented' },
    ])
  })

  it('keeps the text of an event, with digits that JavaScript would lose', async () => {
    await using emulator = await startEmulator()
    const event = '"id":12345678901234567890,"x":1.0, "y" : 1e-7,"e":"\\u00e9","s":"\\ud800","__proto__":{"a":1}'
    await pipe(emulator, `{${event}}\n`, ['--field', 'source=web'])
    const [line = ''] = emulator.lines('d')
    expect(line.replace(/^\{"_time":"[^"]*",/, '')).toBe(`${event},"source":"web"}`)
  })

  it('keeps the text of a refused event in rejected.ndjson, with digits that JavaScript would lose', async () => {
    await using emulator = await startEmulator()
    emulator.faults.rejectEvents(() => true, 'no')
    using spool = makeDirectory()
    const event = '"id":12345678901234567890,"x":1.0,"s":"\\ud800"'
    await pipe(emulator, `{${event}}\n`, ['--spool', spool.path])
    const letter = fs.readFileSync(join(spool.path, 'rejected.ndjson'), 'utf8')
    expect(letter).toMatch(
      /^\{"time":"[^"]*","dataset":"d","status":200,"reason":"no","event":\{"_time":"[^"]*",.*\}\}\n$/,
    )
    expect(letter).toContain(event)
  })

  it('takes the time of an event from the fields of common loggers, and else the time of its arrival', async () => {
    await using emulator = await startEmulator()
    const startedAtMs = Date.now()
    const times = ['{"ts":1763833837.25}', '{"time":"2025-11-22T18:50:37.123456789+01:00"}', '{"time":"soon"}', 'text']
    await pipe(emulator, times.join('\n'))
    const [ofZap, ofSlog, ...ofArrival] = emulator.events('d').map(({ _time }) => String(_time))
    expect(ofZap).toMatch(/^2025-11-22T17:50:37\.250\d{6}Z$/)
    expect(ofSlog).toBe('2025-11-22T17:50:37.123456789Z')
    for (const time of ofArrival) expect(Date.parse(time)).toBeGreaterThanOrEqual(startedAtMs)
    expect(ofArrival).toHaveLength(2)
  })

  it('adds fields and a level unless the event has them, and leaves out events below the minimum severity', async () => {
    await using emulator = await startEmulator()
    const input =
      '{"level":"debug","n":1}\n{"level":40,"source":"own"}\ntext\n{"level":null}\n{"log":{"level":"trace"}}'
    const fields = ['--field', 'source=web', '--field', 'a=b=c']
    const { stderr } = await pipe(emulator, input, [...fields, '--level', 'error', '--min-severity', 'info'])
    expect(emulator.events('d').map(({ _time, ...event }) => event)).toEqual([
      { level: 40, source: 'own', a: 'b=c' },
      { message: 'text', level: 'error', source: 'web', a: 'b=c' },
      { level: null, source: 'web', a: 'b=c' },
    ])
    expect(stderr).toContain('Read 5 lines, delivered 3 events.\nBelow the minimum severity: 2 events.\n')
  })

  it('ships every line as a text with --format text, and the time of a field with --time-field', async () => {
    await using emulator = await startEmulator()
    await pipe(emulator, '{"a":1}\n', ['--format', 'text'])
    await pipe(emulator, '{"time":1763833837,"at":"2025-01-01T00:00:00.5Z"}\n', ['--time-field', 'at'])
    const [text, timed] = emulator.events('d')
    expect(text?.message).toBe('{"a":1}')
    expect(timed?._time).toMatch(/^2025-01-01T00:00:00\.500\d{6}Z$/)
  })

  it('exits with 1 with --format json if a line is not a JSON object, and ships that line as a text', async () => {
    await using emulator = await startEmulator()
    const { code, stderr } = await pipe(emulator, '{"a":1}\n\nBUG\n[2]\n', ['--format', 'json'])
    expect(code).toBe(1)
    expect(stderr).toContain('Not a JSON object: 2 lines, shipped as text (the first is line 3).\n')
    expect(emulator.events('d').map(({ message }) => message)).toEqual([undefined, 'BUG', '[2]'])
  })

  it('redacts values and parts of texts', async () => {
    await using emulator = await startEmulator()
    const input = '{"user":{"password":"hunter2"},"msg":"card 4111-1111"}\nlogin with card 4111-2222\n'
    const rules = ['--redact', '**.password', '--redact-text', String.raw`\d{4}-\d{4}`, '--field', 'note=4111-3333']
    const { code } = await pipe(emulator, input, rules)
    expect(code).toBe(0)
    const lines = emulator.lines('d').join('\n')
    expect(lines).toContain('login with card ')
    expect(lines).not.toMatch(/hunter2|4111/)
  })

  it('passes the input on unchanged with --tee', async () => {
    await using emulator = await startEmulator()
    const input = Buffer.from('\ufeffa\0b\r\n\n{"x":1}\n\xff\xfe\x80 latin\n'.repeat(5000), 'latin1')
    const { code, output } = await pipe(emulator, Buffer.concat([input, Buffer.from('no newline')]), ['--tee'])
    expect(code).toBe(0)
    expect(output.equals(Buffer.concat([input, Buffer.from('no newline')]))).toBe(true)
    expect(emulator.eventCount('d')).toBe(15_001)
  })

  it('replaces bytes that are not UTF-8, and a byte order mark is no part of a line', async () => {
    await using emulator = await startEmulator()
    const input = Buffer.concat([
      Buffer.from('\ufeff{"a":"\u00e9"}\n\ufefftext\n'),
      Buffer.from([0x61, 0xff, 0x62, 0x0a, 0xe2, 0x98]),
    ])
    await pipe(emulator, input)
    const events = emulator.events('d').map(({ a, message }) => a ?? message)
    expect(events).toEqual(['\u00e9', 'text', 'a\ufffdb', '\ufffd'])
  })

  it('joins a line that comes in many pieces, even within a character', async () => {
    await using emulator = await startEmulator()
    await using running = startPipe(emulator, ['--tee'])
    const line = Buffer.from('{"text":"\u2603\ud83d\ude00"}\nnext\n')
    for (const [at] of line.entries()) {
      running.stdin.write(line.subarray(at, at + 1))
      await until(() => running.output().length > at, 'the byte comes out')
    }
    expect(await running.end()).toBe(0)
    expect(emulator.events('d').map(({ text, message }) => text ?? message)).toEqual(['\u2603\ud83d\ude00', 'next'])
  })

  it('cuts lines over 1 MB to fit, and reads of lines over 16 MiB the beginning only', async () => {
    await using emulator = await startEmulator()
    const object = `{"n":1,"text":"${'x'.repeat(1.5 * MiB)}"}`
    const input = `${object}\n${'y'.repeat(17 * MiB)}\nshort\n${'z'.repeat(17 * MiB)}`
    const { code, stderr, output } = await pipe(emulator, input, ['--tee'])
    expect(code).toBe(0)
    expect(stderr).toContain('Longer than 16,777,216 bytes: 2 lines, shipped in part.\n')
    expect(stderr).toContain('Cut to fit: 3 events, marked with logferry.cut.\n')
    expect(output.length).toBe(input.length)
    const lines = emulator.lines('d')
    // Several requests are in flight at once, and may arrive in any order.
    expect(lines.map(line => /"(?:n":1,"text|message)":".{5}/.exec(line)?.[0]).sort()).toEqual([
      '"message":"short',
      '"message":"yyyyy',
      '"message":"zzzzz',
      '"n":1,"text":"xxxxx',
    ])
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(1_000_000)
  })

  it('leaves out what is nested too deep, and says so', async () => {
    await using emulator = await startEmulator()
    const { code, stderr } = await pipe(emulator, `{"n":1,"a":${'['.repeat(100)}${']'.repeat(100)}}\n`)
    expect(code).toBe(0)
    expect(stderr).toContain('Nested too deep: 1 event, without the inner parts.\n')
    expect(emulator.lines('d')[0]).toMatch(/"n":1,"a":\[{60,}"\[Depth\]"\]/)
  })

  it.each([
    ['memory', []],
    ['a spool', ['--durability', 'memory']],
    ['a spool for every event', ['--durability', 'disk']],
  ])('reads no faster than there is room, and loses no event: with %s', { timeout: 60_000 }, async (_, durability) => {
    await using emulator = await startEmulator({ maxStoredBytes: 256 * MiB })
    using spool = makeDirectory()
    const inSpool = ['--spool', spool.path, '--spool-max-bytes', `${16 * MiB}`, ...durability]
    emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    await using running = startPipe(emulator, [
      '--buffer-bytes',
      `${8 * MiB}`,
      ...(durability.length > 0 ? inSpool : []),
    ])
    const count = 20_000
    const written = writeNumbers(running.stdin, count, 'x'.repeat(1000))
    await running.until(/Reading is paused: [\d,]+ events must be delivered first\./)
    expect(running.stdin.writableNeedDrain).toBe(true)
    expect(emulator.eventCount('d')).toBe(0)
    emulator.faults.clear()
    await written
    expect(await running.end()).toBe(0)
    expect(numbersIn(emulator)).toEqual(Array.from({ length: count }, (_, n) => n))
    expect(running.stderr()).toContain('Read 20,000 lines, delivered 20,000 events.\n')
  })

  it('ships on when the reader of its output goes away', async () => {
    await using emulator = await startEmulator()
    await using running = startPipe(emulator, ['--tee'])
    await writeNumbers(running.stdin, 10)
    await until(() => running.output().length > 0, 'a line comes out')
    running.stdout.destroy()
    await writeNumbers(running.stdin, 30_000, '', 10)
    expect(await running.end()).toBe(0)
    expect(emulator.eventCount('d')).toBe(30_000)
    expect(running.stderr()).toContain('The reader of standard output went away')
  })

  it('shows its progress on one line of a narrow terminal', async () => {
    await using emulator = await startEmulator()
    const lines = 'for n in 1 2 3; do echo $n; sleep 0.4; done'
    const command = `stty cols 20; (${lines}) | "$NODE" "$MAIN" pipe`
    const service = { LOGFERRY_URL: emulator.url, LOGFERRY_TOKEN: emulator.token, LOGFERRY_DATASET: 'd' }
    const env = { ...service, TERM: 'xterm', NODE: process.execPath, MAIN: main }
    await using terminal = startProgram('script', ['-qec', command, '/dev/null'], env)
    expect(await terminal.end()).toBe(0)
    const shown = terminal
      .stdout()
      .split('\r')
      .filter(text => text.includes(' read'))
    expect(shown.length).toBeGreaterThan(0)
    for (const text of shown) expect(text.replace('\u001b[K', '').length).toBeLessThan(20)
  })

  it('does not end without a reader of its messages either', async () => {
    await using emulator = await startEmulator()
    await using running = startPipe(emulator)
    await writeNumbers(running.stdin, 10)
    running.closeStderr()
    await writeNumbers(running.stdin, 20, '', 10)
    expect(await running.end()).toBe(0)
    expect(emulator.eventCount('d')).toBe(20)
  })

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('reads the input to its end after %s', async signal => {
    await using emulator = await startEmulator()
    await using running = startPipe(emulator, ['--tee'])
    await writeNumbers(running.stdin, 100)
    await until(() => running.output().includes('"n":99,'), 'the lines come out')
    running.kill(signal)
    await running.until(/A second signal stops at once/)
    await writeNumbers(running.stdin, 200, '', 100)
    expect(await running.end('{"n":200}')).toBe(0)
    expect(numbersIn(emulator)).toEqual(Array.from({ length: 201 }, (_, n) => n))
  })

  it('reads for --read-on seconds after a signal if the input does not end', async () => {
    await using emulator = await startEmulator()
    await using running = startPipe(emulator, ['--tee', '--read-on', '0.3'])
    running.stdin.write('{"n":1}\n')
    await until(() => running.output().length > 0, 'the line comes out')
    running.kill('SIGTERM')
    await running.until(/^Read 1 line, delivered 1 event\.$/m)
    expect(await running.end()).toBe(0)
  })

  it('delivers what it has read, and ends, if the reader of its output has stopped', async () => {
    await using emulator = await startEmulator()
    await using running = startPipe(emulator, ['--tee', '--read-on', '0.3'])
    running.stdout.pause()
    running.stdin.write('{"n":1}\n'.repeat(200_000))
    await until(() => emulator.eventCount('d') > 0, 'the first lines arrive')
    running.kill('SIGTERM')
    expect(await running.exit()).toBe(1)
    await running.until(/The reader of standard output did not take the last [\d,]+ bytes\.\n$/)
    const [, read, delivered] = /^Read ([\d,]+) lines, delivered ([\d,]+) events\.$/m.exec(running.stderr()) ?? []
    expect(delivered).toBe(read)
    expect(emulator.eventCount('d')).toBe(Number(read?.replaceAll(',', '')))
  })

  it('stops at the second signal even if the reader of its output has stopped', async () => {
    await using emulator = await startEmulator()
    await using running = startPipe(emulator, ['--tee'])
    running.stdout.pause()
    running.stdin.write('{"n":1}\n'.repeat(200_000))
    await until(() => emulator.eventCount('d') > 0, 'the first lines arrive')
    running.kill('SIGTERM')
    await running.until(/A second signal stops at once/)
    running.kill('SIGTERM')
    expect(await running.exit()).toBe(1)
  })

  it('gives a slow reader of its output the time to read the rest', async () => {
    await using emulator = await startEmulator()
    await using running = startPipe(emulator, ['--tee'])
    running.stdout.pause()
    const lines = '{"n":1}\n'.repeat(60_000)
    running.stdin.end(lines)
    await until(() => emulator.eventCount('d') > 0, 'the first lines arrive')
    running.stdout.resume()
    expect(await running.end()).toBe(0)
    expect(running.output().toString()).toBe(lines)
  })

  it('is not disturbed by SIGPIPE', async () => {
    await using emulator = await startEmulator()
    await using running = startPipe(emulator, ['--tee'])
    running.stdin.write('a\n')
    await until(() => running.output().length > 0, 'the line comes out')
    running.kill('SIGPIPE')
    expect(await running.end('b\n')).toBe(0)
    expect(emulator.eventCount('d')).toBe(2)
  })

  it('stops at the second signal, and says what is lost', async () => {
    await using emulator = await startEmulator()
    emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    await using running = startPipe(emulator, ['--tee'])
    running.stdin.write('{"n":1}\n{"n":2}\n')
    await until(() => running.output().length > 0, 'the lines come out')
    running.kill('SIGTERM')
    await running.until(/A second signal stops at once/)
    running.kill('SIGTERM')
    await running.until(/^Read 2 lines, delivered 0 events\.\nLost: 2 events, because the command was stopped/m)
    expect(await running.end()).toBe(1)
  })

  it('leaves in the spool what it cannot deliver, and the next process delivers that', async () => {
    await using emulator = await startEmulator()
    using spool = makeDirectory()
    const args = ['--spool', spool.path, '--timeout', '0']
    emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    const first = await pipe(emulator, '{"n":1}\n{"n":2}\n', args)
    expect(first.code).toBe(1)
    expect(first.stderr).toContain('In the spool: 2 events, because the time was up. The next process delivers them.\n')
    emulator.faults.clear()
    const last = await pipe(emulator, '{"n":3}\n', ['--spool', spool.path])
    expect(last).toMatchObject({ code: 0 })
    expect(last.stderr).toBe(
      'Read 1 line, delivered 3 events.\nAdopted from the spool: 2 events of earlier processes.\n',
    )
    expect(numbersIn(emulator)).toEqual([1, 2, 3])
  })

  it('passes a line on only when it is on disk or, if the disk cannot be used, delivered', async () => {
    await using emulator = await startEmulator()
    using directory = makeDirectory()
    fs.writeFileSync(join(directory.path, 'file'), '')
    emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    await using running = startPipe(emulator, ['--tee', '--spool', join(directory.path, 'file', 'spool')])
    running.stdin.write('{"n":1}\n')
    await running.until(/the spool in .* cannot be used/)
    await until(() => emulator.requests().length > 1, 'the event has been sent in vain')
    expect(running.output().length).toBe(0)
    emulator.faults.clear()
    await until(() => running.output().length > 0, 'the line comes out')
    expect(numbersIn(emulator)).toEqual([1])
    expect(await running.end()).toBe(0)
  })

  it.runIf(fs.existsSync('/usr/bin/script'))('shows its progress on a terminal, below its messages', async () => {
    await using emulator = await startEmulator()
    using directory = makeDirectory()
    const inputEnds = join(directory.path, 'input-ends')
    const input = 'until [ -e "$INPUT_ENDS" ]; do sleep 0.1; done'
    const command = `${input} | "$NODE" dist/cli/main.cjs pipe --dataset d`
    await using terminal = startProgram('/usr/bin/script', ['-qec', command, '/dev/null'], {
      NODE: process.execPath,
      INPUT_ENDS: inputEnds,
      LOGFERRY_URL: emulator.url,
      LOGFERRY_TOKEN: emulator.token,
      TERM: 'xterm',
    })
    await terminal.until(/0 lines read/)
    fs.writeFileSync(inputEnds, '')
    expect(await terminal.end()).toBe(0)
    expect(terminal.stdout()).toContain('\r0 lines read (0/s), 0 delivered, 0 waiting\u001b[K')
    expect(terminal.stdout()).toContain('\r\u001b[KRead 0 lines, delivered 0 events.\r\n')
  })

  it('exits with 1 if the service refuses an event, and says so', async () => {
    await using emulator = await startEmulator()
    emulator.faults.rejectEvents(({ n }) => n === 2, 'bad\u001b[2J\nlogferry: forged')
    const { code, stderr } = await pipe(emulator, '{"n":1}\n{"n":2}\n{"n":3}\n')
    expect(code).toBe(1)
    expect(stderr).toContain('Read 3 lines, delivered 2 events.\nRefused by the service: 1 event.\n')
    expect(stderr).not.toMatch(unprintable)
    expect(stderr).not.toMatch(/^logferry: forged/m)
  })

  it('exits with 1 if nothing is delivered within --timeout', async () => {
    await using emulator = await startEmulator()
    const { code, stderr } = await pipe({ url: emulator.url, token: 'wrong' }, 'a\n', ['--timeout', '0.3'])
    expect(code).toBe(1)
    expect(stderr).toContain(
      'Lost: 1 event, because the time was up. The warnings say more. With --spool, events wait on disk instead.\n',
    )
    expect(stderr).not.toContain('wrong')
  })

  it('warns in words of the command: its user may not know the options of an application', async () => {
    const { code, stderr } = await pipe({ url: 'http://127.0.0.1:9', token: 't' }, 'text', ['--timeout', '0.2'])
    expect(code).toBe(1)
    expect(stderr).toContain('Check the network, LOGFERRY_URL, the certificates')
    expect(stderr).toContain('or allow more time (--timeout)')
    expect(stderr).not.toMatch(/baseUrl|TimeoutMs/)
  })

  it('exits with 0 if the input is empty or closed, and with 1 if it cannot be read', async () => {
    await using emulator = await startEmulator()
    using directory = makeDirectory()
    expect(await pipe(emulator, '')).toMatchObject({ code: 0, stderr: 'Read 0 lines, delivered 0 events.\n' })
    for (const [path, flags, code, said] of [
      ['/dev/null', 'r', 0, 'Read 0 lines'],
      [join(directory.path, 'file'), 'w', 1, 'The input could not be read to its end: EBADF'],
      [directory.path, 'r', 1, 'The input could not be read to its end: EISDIR'],
    ] as const) {
      const descriptor = fs.openSync(path, flags)
      await using running = startPipe(emulator, [], descriptor)
      fs.closeSync(descriptor)
      expect({ path, code: await running.end() }).toEqual({ path, code })
      expect(running.stderr()).toContain(said)
    }
  })

  it.each([
    [
      ['--format', 'xml'],
      "option '--format <format>' argument 'xml' is invalid. Allowed choices are auto, json, text.",
    ],
    [['--level', 'loud'], "option '--level <level>' argument 'loud' is invalid."],
    [['--field', 'novalue'], "--field must be name=value, with a name of 1 to 200 characters, not 'novalue'"],
  ])('exits with 2 for %j, and says what is expected', async (args, problem) => {
    const { code, stdout, stderr } = await logferryInTurn(['pipe', ...args])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(`logferry: ${problem}`)
  })
})

/** Writes lines `{"n":…,"text":…}` from `first` up to `count`, as fast as they are read. */
async function writeNumbers(stdin: NodeJS.WritableStream, count: number, text = '', first = 0): Promise<void> {
  for (let n = first; n < count; ) {
    let lines = ''
    for (const end = Math.min(n + 100, count); n < end; n++) lines += `{"n":${n},"text":"${text}"}\n`
    if (!stdin.write(lines)) await new Promise(resolve => stdin.once('drain', resolve))
  }
}

function numbersIn(emulator: Emulator): number[] {
  return emulator
    .events('d')
    .map(({ n }) => n as number)
    .sort((one, other) => one - other)
}

/** Makes a directory, which is removed with everything in it. */
function makeDirectory(): Disposable & { readonly path: string } {
  const path = fs.mkdtempSync(join(tmpdir(), 'logferry-pipe-'))
  return { path, [Symbol.dispose]: () => fs.rmSync(path, { recursive: true }) }
}
