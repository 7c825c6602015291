/** `logferry tail` and `logferry logs` as they are built, against a real dev service, and on a spool. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Misuse } from '../../src/cli/command.ts'
import { command } from '../../src/cli/logs.ts'
import { startEmulator } from '../../src/emulator.ts'
import { hostileText, unprintable } from '../support/hostile-text.ts'
import { logferry, logferryInTurn, startLogferry } from '../support/logferry.ts'
import { runProgram } from '../support/run-script.ts'
import { leaveByKill, makeSpool, nowhere } from '../support/spool-of-test.ts'
import type { RunningProcess } from '../support/start-node.ts'
import { until } from '../support/until.ts'
import { type Dev, startDev } from './service.ts'

const main = fileURLToPath(new URL('../../dist/cli/main.cjs', import.meta.url))

/** Starts `logferry tail`, and waits until it reads from now on: it has printed the event that was there. */
async function startTail(dev: Dev, args: readonly string[], url = dev.url): Promise<RunningProcess> {
  const dataset = args.includes('--dataset') ? [] : ['--dataset', 'd']
  await dev.ingest([{ message: 'the last one' }])
  const running = startLogferry(['tail', '--url', url, '--last', '1', ...dataset, ...args])
  await running.until(/the last one/)
  return running
}

/** The numbers of the events that were printed as JSON. */
function numbers(output: string): unknown[] {
  return output
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line).n)
    .filter(n => n !== undefined)
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index)
}

describe('logferry tail', () => {
  let dev: Dev
  beforeAll(async () => {
    dev = await startDev(['--max-events', '1000'])
  })
  afterAll(() => dev?.[Symbol.asyncDispose]())

  it('prints the events that match as they arrive, as they were sent, and ends with 0 on Ctrl-C', async () => {
    await using tail = await startTail(dev, ['--json', 'message:*last* OR level:>=warn'])
    await dev.ingest([
      { level: 'info', n: 1 },
      { level: 'error', n: 2 },
      { level: 'warn', n: 3, big: 1 },
    ])
    await tail.until(/"n":3/)
    expect(numbers(tail.stdout())).toEqual([2, 3])
    expect(tail.stdout()).toContain('{"level":"warn","n":3,"big":1}\n')
    expect(await tail.end('SIGINT')).toBe(0)
    expect(tail.stderr()).toBe('')
  })

  it('prints a stack once, although loggers write it into two fields', async () => {
    await using tail = await startTail(dev, ['--color', 'never'])
    const stack = 'TypeError: x\n    at pay (src/pay.ts:4:7)'
    await dev.ingest([
      { message: 'boom', stack, exception: { stacktrace: stack } },
      { message: 'next', stack: 'E\n  at x' },
    ])
    await tail.until(/at x/)
    expect(tail.stdout().match(/at pay/g)).toHaveLength(1)
  })

  it('tells how many lines of a long stack it leaves out', async () => {
    await using tail = await startTail(dev, ['--color', 'never'])
    const frames = Array.from({ length: 99 }, (_, n) => `    at f${n} (${'deep/'.repeat(40)}a.ts:4:7)`)
    await dev.ingest([{ message: 'boom', stack: ['TypeError: x', ...frames].join('\n') }])
    await tail.until(/more lines/)
    expect(tail.stdout()).toContain('… 88 more lines')
  })

  it('tells how many fields it leaves out, also of an event with thousands', async () => {
    await using tail = await startTail(dev, ['--color', 'never'])
    const fields = Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`f${n}`, n]))
    await dev.ingest([{ message: 'wide', ...fields }])
    await tail.until(/more\n/)
    expect(tail.stdout()).toContain('f11=11 … 2988 more\n')
  })

  it('writes the year of a zero time in four digits', async () => {
    await using tail = await startTail(dev, ['--color', 'never', '--utc'])
    await dev.ingest([{ _time: '0001-01-01T00:00:00Z', message: 'zero' }])
    await tail.until(/zero/)
    expect(tail.stdout()).toMatch(/^── 0001-01-01 ──$/m)
  })

  it('prints for people: time, level, dataset, message, fields, stack, and repeats as one', async () => {
    const time = '2026-11-21T10:42:07.123000001Z'
    const stack = 'TypeError: x\n    at pay (src/pay.ts:4:7)'
    const error = { _time: time, level: 'error', message: 'timed out', http: { status: 504 }, error: { stack } }
    const repeat = { _time: time, level: 'warn', message: 'retrying', trace_id: '4bf92f3577b34da6a3ce929d0e0e4736' }
    await dev.ingest([error, repeat, repeat, repeat])
    // Read at once: events that a busy service keeps one after the other are not printed together.
    const shown = ['--last', '4', '--dataset', 'd', '--utc', '--color', 'never']
    await using tail = startLogferry(['tail', '--url', dev.url, ...shown])
    await tail.until(/×3\n.*trace=/)
    expect(tail.stdout()).toContain(
      `── 2026-11-21 ──
10:42:07.123 ● ERROR d         timed out
             http.status=504
               TypeError: x
                   at pay (src/pay.ts:4:7)
10:42:07.123 ▲ WARN  d         retrying ×3
             trace=4bf92f35
`,
    )
  })

  it('prints every event of a flood, in the order of arrival', async () => {
    await using tail = await startTail(dev, ['--json'])
    for (let n = 0; n < 3000; n += 100) {
      await dev.ingest(range(n, n + 100).map(n => ({ message: 'flood', n })))
      await tail.until(new RegExp(`"n":${n}\\b`))
    }
    await tail.until(/"n":2999\b/)
    expect(numbers(tail.stdout())).toEqual(range(0, 3000))
    expect(tail.stderr()).toBe('')
  })

  it('leaves no hole between the earlier events and those that arrive while it starts', async () => {
    const flooding = (async () => {
      for (let n = 0; n < 900; n++) await dev.ingest([{ message: 'start', n }], 'start')
    })()
    await using tail = startLogferry(['tail', '--url', dev.url, '--last', '30', '--json', '--dataset', 'start'])
    await tail.until(/"n":899\b/)
    await flooding
    const printed = numbers(tail.stdout()) as number[]
    expect(printed).toEqual(range(printed[0] as number, 900))
  })

  it('tells how many events the service forgot before they could be read', async () => {
    await using tail = await startTail(dev, ['--json', '--dataset', 'd'])
    tail.signal('SIGSTOP')
    for (let n = 0; n < 3000; n += 1000) await dev.ingest(range(n, n + 1000).map(n => ({ message: 'gap', n })))
    await dev.ingest([{ message: 'the end', n: 3000 }])
    tail.signal('SIGCONT')
    await tail.until(/"n":3000\b/)
    const forgotten = () => {
      const notes = [...tail.stderr().matchAll(/^logferry: ([\d,]+) events were forgotten/gm)]
      return notes.reduce((sum, [, count = '']) => sum + Number(count.replaceAll(',', '')), 0)
    }
    const printed = numbers(tail.stdout())
    // What the process prints to one stream may come before what it has printed to the other.
    await until(() => printed.length + forgotten() === 3001, 'each event is printed or told of as forgotten')
    expect(forgotten()).toBeGreaterThan(1000)
    expect(printed).toEqual([...printed].sort((one, other) => Number(one) - Number(other)))
  })

  it('connects again, and tells for how long it was cut off and how many events arrived meanwhile', async () => {
    await using line = await openLine(dev.url)
    await using tail = await startTail(dev, ['--json'], line.url)
    await line.cut()
    await tail.until(/no dev service answers at .* Trying again\./)
    await dev.ingest(range(0, 3).map(n => ({ message: 'meanwhile', n })))
    await line.mend()
    await tail.until(/"n":2/)
    await tail.until(/arrived meanwhile/)
    expect(tail.stderr()).toMatch(
      /^logferry: disconnected \d+ s; 3 events arrived meanwhile, 0 of them were forgotten\.$/m,
    )
    expect(numbers(tail.stdout())).toEqual([0, 1, 2])
  })

  it('reads a service from its first event after the service has restarted', async () => {
    const first = await startDev()
    const port = new URL(first.url).port
    await first.ingest([{ n: 1 }, { n: 2 }])
    await using tail = startLogferry(['tail', '--url', first.url, '--last', '2', '--json'])
    await tail.until(/"n":2/)
    await first[Symbol.asyncDispose]()
    await tail.until(/Trying again/)
    await using second = await startDev(['--port', port])
    await second.ingest([{ n: 3 }])
    await tail.until(/"n":3/)
    await tail.until(/has restarted/)
    expect(tail.stderr()).toMatch(/the service has restarted; its events follow from the first one\.$/m)
    expect(numbers(tail.stdout())).toEqual([1, 2, 3])
  })

  it('leaves out the events that the service has loaded from a file by its restart', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'logferry-tail-'))
    const file = join(directory, 'events.ndjson')
    const first = await startDev(['--save', file])
    const port = new URL(first.url).port
    await first.ingest([{ n: 1 }, { n: 2 }])
    await using tail = startLogferry(['tail', '--url', first.url, '--last', '2', '--json'])
    await tail.until(/"n":2/)
    await first[Symbol.asyncDispose]()
    await tail.until(/Trying again/)
    await using second = await startDev(['--port', port, '--save', file, '--load', file])
    await second.ingest([{ n: 3 }])
    await tail.until(/"n":3/)
    expect(numbers(tail.stdout())).toEqual([1, 2, 3])
    expect(tail.stderr()).toMatch(/follow from the first one after the 2 events that it has loaded from a file\.$/m)
    rmSync(directory, { recursive: true })
  })

  it('ends with 0 if the reader of its output ends', async () => {
    await dev.ingest(range(0, 5).map(n => ({ message: 'for head', n })))
    const tail = `'${process.execPath}' '${main}' tail --url ${dev.url} --last 5 --json`
    const feed = `until curl -s >/dev/null ${dev.url}/nothing; do :; done`
    const running = runProgram('bash', ['-c', `${tail} | head -1; echo "\${PIPESTATUS[0]}"; ${feed}`])
    const timer = setInterval(() => void dev.ingest([{ message: 'more' }]), 100)
    const { stdout } = await running.finally(() => clearInterval(timer))
    expect(stdout.trimEnd().split('\n').at(-1)).toBe('0')
  })

  it.each(['tail', 'logs'])('exits with 1 and names the remedy if nothing listens: %s', async command => {
    const { code, stdout, stderr } = await logferryInTurn([command, '--url', await addressOfNobody()])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(
      /^logferry: no dev service answers at http:\S+ \(ECONNREFUSED\)\. Start one with 'logferry dev'/,
    )
  })

  it('exits with 1 if another service answers', async () => {
    await using emulator = await startEmulator()
    const { code, stderr } = await logferry(['tail', '--url', emulator.url])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^logferry: http:\/\/127.0.0.1:\d+ .*\b404\b/)
  })
})

describe.concurrent('logferry logs', () => {
  let dev: Dev
  const time = (second: number) => new Date(Date.UTC(2026, 10, 21, 10, 42, second)).toISOString()
  beforeAll(async () => {
    dev = await startDev(['--private'])
    const events = range(0, 50).map(n => ({
      _time: time(n),
      level: n % 10 === 9 ? 'error' : 'info',
      message: `m${n}`,
      n,
    }))
    await dev.ingest(events.slice(25), 'one')
    await dev.ingest(events.slice(0, 25), 'two')
  })
  afterAll(() => dev?.[Symbol.asyncDispose]())
  const logs = (...args: string[]) =>
    logferryInTurn(['logs', ...args], { LOGFERRY_URL: dev.url, LOGFERRY_TOKEN: dev.token, TZ: 'Asia/Tokyo' })

  it('prints what the service keeps by time, oldest first, and ends', async () => {
    const { code, stdout, stderr } = await logs('--json')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(numbers(stdout)).toEqual(range(0, 50))
    expect(numbers((await logs('--json', '--reverse')).stdout)).toEqual(range(0, 50).reverse())
  })

  it('finds what the page finds', async () => {
    const headers = { authorization: `Bearer ${dev.token}` }
    for (const query of ['level:error m1', 'n:>=40 -m45', '(unfinished']) {
      const exported = await dev.raw(`/dev/api/export?q=${encodeURIComponent(query)}`, { headers })
      const { stdout } = await logs('--json', query)
      expect(stdout.split('\n').sort()).toEqual(exported.body.split('\n').sort())
    }
  })

  it.each([
    [['--since', '2026-11-21T10:42:45Z'], range(45, 50)],
    [
      ['--since', '2026-11-21T10:42:03Z', '--until', '2026-11-21T10:42:05Z'],
      [3, 4, 5],
    ],
    [
      ['--utc', '--since', '2026-11-21 10:42:47'],
      [47, 48, 49],
    ],
    [
      ['--since', '2026-11-21T19:42:48'],
      [48, 49],
    ], // local time, in Tokyo
    [
      ['--dataset', 'two', 'level:error'],
      [9, 19],
    ],
    [['--since', '1m'], []],
    // The newest to arrive. An event without `n` may come from a test that sends to a port that nobody listened to.
    [['--limit', '3', 'n:>=0'], range(22, 25)],
  ])('prints only the events that %j asks for', async (args, expected) => {
    const { code, stdout } = await logs('--json', ...args)
    expect(code).toBe(0)
    expect(stdout === '' ? [] : numbers(stdout)).toEqual(expected)
  })

  it('says that it has left out older events', async () => {
    expect((await logs('--json', '--limit', '3')).stderr).toMatch(/more events match than the newest 3\. Raise/)
    expect((await logs('--json', '--limit', '25', '--dataset', 'one')).stderr).toBe('')
  })

  it('exits with 3 if nothing matches and --exit-code asks for it, and says what may be meant', async () => {
    const { code, stdout, stderr } = await logs('--exit-code', 'mesage:x')
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toMatch(/No event has a field `mesage`\. Did you mean message\?/)
  })

  it('wraps events with --meta, writes logfmt, and chooses fields', async () => {
    const [line = ''] = (await logs('--json', '--meta', '--limit', '1', 'n:7')).stdout.split('\n')
    const event = { _time: time(7), level: 'info', message: 'm7', n: 7 }
    expect(JSON.parse(line)).toEqual({ dataset: 'two', source: null, received: expect.any(String), event })
    expect((await logs('--logfmt', 'n:7')).stdout).toBe(`time=${time(7)} level=info dataset=two msg=m7 n=7\n`)
    expect((await logs('--json', '--fields', 'n,nothing,n', 'n:7')).stdout).toBe('{"n":7}\n')
  })

  it('writes an unknown level as logfmt, and the message once', async () => {
    const events = [
      { level: 'LOUD', msg: 'a' },
      { level: 99, message: 'b' },
      { level: 30, msg: 'c' },
    ]
    await dev.ingest(
      events.map(event => ({ _time: time(0), ...event })),
      'logfmt',
    )
    const { stdout } = await logs('--logfmt', '--dataset', 'logfmt')
    expect(stdout.replaceAll(`time=${time(0)} `, '').split('\n')).toEqual([
      'dataset=logfmt msg=a level=LOUD',
      'dataset=logfmt msg=b level=99',
      'level=info dataset=logfmt msg=c',
      '',
    ])
  })

  it('asks for the token of a private service, and sends it to no other', async () => {
    const { code, stderr } = await logferry(['logs', '--url', dev.url])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/asks for its token\. Set LOGFERRY_URL/),
    })
    const heard: string[] = []
    const server = createServer(socket => {
      socket
        .on('error', () => {})
        .once('data', data => {
          heard.push(String(data))
          socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
        })
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as { port: number }
    await logs('--url', `http://127.0.0.1:${port}`)
    server.close()
    expect(heard.join('')).toMatch(/^GET \/dev\/api\/events/)
    expect(heard.join('')).not.toContain(dev.token)
  })

  it('prints no character that a terminal would obey, whatever is in an event, a query or an answer', async () => {
    const text = hostileText('said')
    await dev.ingest(
      [{ level: 'error', message: text, [text.slice(0, 200)]: text, stack: `E\n at ${text}` }],
      'hostile',
    )
    for (const format of ['--color=always', '--json', '--logfmt', '--json --meta']) {
      const { code, stdout } = await logs('--dataset', 'hostile', ...format.split(' '))
      expect(code).toBe(0)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the colors are ours
      expect(stdout.replace(/\u001b\[\d+m/g, '')).not.toMatch(unprintable)
      expect(stdout).not.toMatch(/^ *logferry: forged/m)
      expect(stdout.length).toBeGreaterThan(100)
    }
    const { stderr } = await logs(`(${text.slice(0, 100).replaceAll('\0', '')}`)
    expect(stderr).not.toMatch(unprintable)
  })

  it.each([
    [{ limit: '0' }, '--limit must be an integer from 1 to 1,000,000'],
    [{ since: 'yesterday' }, '--since must be a duration such as 10m or 1h30m, or a time such as 10:42'],
    [{ since: '25:00' }, '--since must be a duration'],
    [{ since: '23:59:59.999' }, '--since 23:59:59.999 is yet to come today. For a time of yesterday, give its date'],
    [{ until: '2026-11-31' }, '--until must be a duration'],
    [{ until: '2026-02-29T10:42Z' }, '--until must be a duration'],
    [{ json: true, logfmt: true }, '--json and --logfmt exclude each other'],
    [{ meta: true }, '--meta has an effect with --json only'],
    [{ fields: 'a,,b' }, '--fields must be names of fields'],
    [{ url: 'here' }, '--url must be the address of a dev service'],
    [{ url: nowhere, spool: '/tmp' }, '--url and --spool exclude each other'],
    [{ spool: '' }, '--spool must be the directory'],
    [{ dataset: '' }, '--dataset must be the name of a dataset'],
  ])('refuses %j, and says what is expected', async (given, problem) => {
    const refusal = command.run(given, {})
    await expect(refusal).rejects.toThrow(Misuse)
    await expect(refusal).rejects.toThrow(problem)
  })
})

describe.concurrent('a spool in the terminal', () => {
  it('is read by logs with a query, and stays as it is', async () => {
    using spool = makeSpool()
    await leaveByKill(spool.directory, '', 5)
    const before = spool.files()
    const { code, stdout } = await logferryInTurn(['logs', '--spool', spool.directory, '--json', 'n:>2'])
    expect({ code, numbers: numbers(stdout) }).toEqual({ code: 0, numbers: [3, 4] })
    expect(spool.files()).toEqual(before)
  })

  it('gets no advice on a query that matches the first of many events only', async () => {
    using spool = makeSpool()
    const message = `transform: event => ({ ...event, message: event.n < 2 ? 'plain' : 'not plain' })`
    await leaveByKill(spool.directory, message, 2500)
    const found = await logferryInTurn(['logs', '--spool', spool.directory, '--json', 'message:plain'])
    expect({ numbers: numbers(found.stdout), stderr: found.stderr }).toEqual({ numbers: [0, 1], stderr: '' })
    const none = await logferryInTurn(['logs', '--spool', spool.directory, '--json', 'message:plai'])
    expect(none.stderr).toContain('asks for this value as a whole')
  })

  it('has the source of each event, as a service does', async () => {
    using spool = makeSpool()
    await leaveByKill(spool.directory, "context: () => ({ service: 'shop' })", 1)
    const args = ['logs', '--spool', spool.directory, '--json', '--meta', 'source:shop']
    const { stdout } = await logferryInTurn(args)
    expect(JSON.parse(stdout)).toMatchObject({ source: 'shop', event: { n: 0, service: 'shop' } })
  })

  it('is followed by tail: what was there, then what applications write, also if it leaves the spool', async () => {
    using spool = makeSpool()
    await using emulator = await startEmulator()
    await leaveByKill(spool.directory, '', 3, emulator.url)
    await using tail = startLogferry(['tail', '--spool', spool.directory, '--last', '2', '--json'])
    await tail.until(/"n":2/)
    await leaveByKill(spool.directory, 'context: () => ({ later: true })', 2, emulator.url)
    await tail.until(/"n":1,.*later|later.*"n":1/)
    expect(numbers(tail.stdout())).toEqual([1, 2, 0, 1])
    expect(await tail.end('SIGTERM')).toBe(0)
    expect(tail.stderr()).toBe('')
  })
})

async function addressOfNobody(): Promise<string> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as { port: number }
  await once(server.close(), 'close')
  return `http://127.0.0.1:${port}`
}

/** A connection to a service that can be cut, and mended at the same address. */
interface Line extends AsyncDisposable {
  readonly url: string
  cut(): Promise<void>
  mend(): Promise<void>
}

async function openLine(to: string): Promise<Line> {
  const target = Number(new URL(to).port)
  const sockets = new Set<Socket>()
  const add = (socket: Socket) => {
    sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)))
    return socket
  }
  const listen = async (port: number): Promise<Server> => {
    const server = createServer(socket =>
      add(socket)
        .pipe(add(connect(target, '127.0.0.1')))
        .pipe(socket),
    )
    await once(server.listen(port, '127.0.0.1'), 'listening')
    return server
  }
  let server = await listen(0)
  const { port } = server.address() as { port: number }
  const cut = async () => {
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  return {
    url: `http://127.0.0.1:${port}`,
    cut,
    async mend() {
      server = await listen(port)
    },
    [Symbol.asyncDispose]: async () => {
      if (server.listening) await cut()
    },
  }
}
