/** `logferry dev -- program` as it is built. */
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { paths, writeHeader } from '../../src/dev/protocol.ts'
import { logferry, logferryInTurn, startLogferry } from '../support/logferry.ts'
import { mounted } from '../support/mounted.ts'
import { runProgram } from '../support/run-script.ts'
import { mustRunSync } from '../support/run-sync.ts'
import { startProgram } from '../support/start-node.ts'
import { setupOf, startDev } from './service.ts'

const main = fileURLToPath(new URL('../../dist/cli/main.cjs', import.meta.url))

let home: string
let environment: Record<string, string>
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'logferry-state-'))
  environment = { HOME: home, XDG_STATE_HOME: home }
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

function run(script: string, args: readonly string[] = ['--port', '0'], env: Record<string, string> = {}) {
  return logferry(['dev', ...args, '--', process.execPath, '-e', script], { ...environment, ...env })
}

describe('logferry dev -- program', () => {
  it.each([
    ['no variable', {}],
    ['empty variables', { LOGFERRY_DATASET: '', OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
  ])('gives the program what it needs to ship, and keeps its output apart, with %s', async (_, given) => {
    const names = ['LOGFERRY_URL', 'LOGFERRY_TOKEN', 'LOGFERRY_DATASET', 'OTEL_EXPORTER_OTLP_ENDPOINT']
    const { code, stdout, stderr } = await run(
      `console.log(JSON.stringify(${JSON.stringify(names)}.map(n => process.env[n])))`,
      undefined,
      given,
    )
    const [url, token, dataset, endpoint] = JSON.parse(stdout)
    expect(code).toBe(0)
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(token).toMatch(/^dev-[\w-]{32}$/)
    expect([dataset, endpoint]).toEqual(['local', url])
    expect(stderr).toContain(`your logs are at ${url}/`)
    expect(stderr).not.toContain(token)
  })

  it('leaves spans and metrics where they went, if the program has an endpoint of its own', async () => {
    const script = 'console.log(process.env.OTEL_EXPORTER_OTLP_ENDPOINT, process.env.OTEL_EXPORTER_OTLP_LOGS_ENDPOINT)'
    const { stdout } = await run(script, undefined, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' })
    expect(stdout).toMatch(/^http:\/\/collector:4318 http:\/\/127\.0\.0\.1:\d+\/v1\/logs\n$/)
  })

  it('receives what the program logs', async () => {
    const script = `fetch(process.env.LOGFERRY_URL + '/v1/datasets/d/ingest', { method: 'POST', body: '[{},{}]', headers: {
      authorization: 'Bearer ' + process.env.LOGFERRY_TOKEN, 'content-type': 'application/json' } })`
    expect((await run(script)).stderr).toContain('events received: 2')
  })

  it.each([
    [
      'Winston',
      `import winston from 'winston'
       import { LogferryTransport } from 'logferry/winston'
       const logger = winston.createLogger({ defaultMeta: { service: 'shop' }, transports: [new LogferryTransport()] })
       logger.warn('payment is slow')`,
    ],
    [
      'OpenTelemetry and our processor',
      `import { LoggerProvider } from '@opentelemetry/sdk-logs'
       import { LogferryLogRecordProcessor } from 'logferry/otel'
       const provider = new LoggerProvider({ processors: [new LogferryLogRecordProcessor()] })
       provider.getLogger('shop').emit({ body: 'payment is slow' })`,
    ],
    [
      'an exporter of OpenTelemetry that knows nothing of us',
      `import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto'
       import { LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs'
       const processors = [new SimpleLogRecordProcessor({ exporter: new OTLPLogExporter() })]
       const provider = new LoggerProvider({ processors })
       provider.getLogger('shop').emit({ body: 'payment is slow' })
       await provider.shutdown()`,
    ],
  ])('shows what a program logs by %s, with nothing set in its code', async (_, script) => {
    const args = ['dev', '--private', '--tail', '--port', '0', '--']
    const program = [process.execPath, '--input-type=module', '-e', script]
    const { code, stdout, stderr } = await logferry([...args, ...program], environment)
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('payment is slow') })
    expect(stderr).toContain('events received: 1')
  })

  it.each([
    ['process.exit(7)', 7],
    ['process.kill(process.pid, "SIGTERM"); setTimeout(() => {}, 1e4)', 128 + 15],
  ])('ends as the program does: %s', async (script, code) => {
    expect((await run(script)).code).toBe(code)
  })

  it('ends with 127 if the program is not found, and 126 if it cannot run', async () => {
    const missing = await logferry(['dev', '--port', '0', '--', 'no-such-program'], environment)
    expect(missing).toMatchObject({ code: 127, stdout: '' })
    expect(missing.stderr).toContain('cannot run no-such-program: command not found')
    const directory = await logferry(['dev', '--port', '0', '--', home], environment)
    expect(directory.code).toBe(126)
    expect(directory.stderr).toContain(
      `cannot run ${home}: it may not be executed (EACCES). Name the program that runs`,
    )
    const inFile = await logferry(['dev', '--port', '0', '--', `${process.execPath}/x`], environment)
    expect(inFile.code).toBe(126)
    expect(inFile.stderr).toContain('a part of the path is a file (ENOTDIR). Check the path.')
  })

  it('says so if a script names a program that does not exist', async () => {
    const script = join(home, 'script.sh')
    writeFileSync(script, '#!/no/such/sh\r\n', { mode: 0o755 })
    const { code, stderr } = await logferry(['dev', '--port', '0', '--', script], environment)
    expect(code).toBe(127)
    expect(stderr).toContain(`cannot run ${script}: the program that its first line names was not found.`)
  })

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('passes %s on, and waits for the program', async signal => {
    const script = `process.on('${signal}', () => setTimeout(() => { console.log('done'); process.exit(9) }, 100)); console.log('ready'); setInterval(() => {}, 1e4)`
    await using running = startLogferry(['dev', '--port', '0', '--', process.execPath, '-e', script], environment)
    await running.until(/ready/)
    expect(await running.end(signal)).toBe(9)
    expect(running.stdout()).toBe('ready\ndone\n')
  })

  it('lets the terminal send Ctrl-C to the program, once, also if its input is redirected', async () => {
    const script = `let count = 0
      process.on('SIGINT', () => { count++; setTimeout(() => process.exit(count), 300) })
      setInterval(() => {}, 1e4)
      console.log('awaits Ctrl-C')`
    const command = `exec "$NODE" "$MAIN" dev --port 0 -- "$NODE" -e "$SCRIPT" < /dev/null` // some shells end with 130 themselves
    const given = { NODE: process.execPath, MAIN: main, SCRIPT: script }
    const args = ['-qec', command, '/dev/null']
    await using terminal = startProgram('script', args, { ...environment, ...given }, 'pipe')
    await terminal.until(/awaits Ctrl-C/)
    terminal.write('\u0003')
    expect(await terminal.end()).toBe(1)
  })

  it('reports its end also if a signal comes again when the program has ended, as from npm', async () => {
    const atItsEnd = `import { ChildProcess } from 'node:child_process'
      const { emit } = ChildProcess.prototype
      ChildProcess.prototype.emit = function (name, ...rest) {
        if (name === 'exit') setTimeout(() => process.kill(process.pid, 'SIGINT'), 1)
        return emit.call(this, name, ...rest)
      }`
    const preload = `data:text/javascript,${encodeURIComponent(atItsEnd)}`
    const { code, stderr } = await logferry(['dev', '--port', '0', '--', 'false'], environment, ['--import', preload])
    expect(code).toBe(1)
    expect(stderr).toContain('events received: 0')
  })

  it.each(['/dev/full', '>(true)'])(
    'ends as the program does if its messages cannot be printed: 2> %s',
    async target => {
      const script = `"$0" "$1" dev --port 0 -- sh -c 'sleep 0.3; exit 7' 2> ${target}`
      const { code } = await runProgram('bash', ['-c', script, process.execPath, main], environment)
      expect(code).toBe(7)
    },
  )

  it('with --keep shows the logs until it is stopped, and still returns the code of the program', async () => {
    const args = ['dev', '--port', '0', '--keep', '--', process.execPath, '-e', 'process.exit(3)']
    await using running = startLogferry(args, environment)
    await running.until(/the program has ended with 3; its logs stay at http/)
    const url = /your logs are at (\S+)\//.exec(running.stderr())?.[1]
    expect((await fetch(`${url}/dev/api/summary`)).status).toBe(200)
    expect(await running.end('SIGINT')).toBe(3)
  })
})

describe('a second logferry dev on the same port', () => {
  it('joins the first, ships there, and leaves it running', async () => {
    await using dev = await startDev([], environment)
    const port = new URL(dev.url).port
    const script = 'console.log(process.env.LOGFERRY_URL, process.env.LOGFERRY_TOKEN); process.exit(5)'
    const { code, stdout, stderr } = await run(script, ['--port', port])
    expect({ code, stdout }).toEqual({ code: 5, stdout: `${dev.url} ${dev.token}\n` })
    expect(stderr).toContain('where a dev service runs already')
    expect((await setupOf(dev)).token).toBe(dev.token)
    expect(await logferry(['dev', '--port', port], environment)).toMatchObject({ code: 0 })
  })

  it('says what it cannot do to the first', async () => {
    await using dev = await startDev([], environment)
    const port = new URL(dev.url).port
    const changed = await logferry(['dev', '--port', port, '--max-events', '5'], environment)
    expect(changed).toMatchObject({ code: 1, stderr: expect.stringContaining('--max-events does not change it') })
    const other = await run('', ['--port', port, '--token', 'another-token'])
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('another token') })
    await using itsOwn = await startDev(['--token', 'a-token-of-its-own'], environment)
    const joining = await run('', ['--port', new URL(itsOwn.url).port])
    expect(joining).toMatchObject({ code: 1, stderr: expect.stringContaining('another token') })
  })

  it('is reached directly, whatever proxy the environment names', async () => {
    const proxied = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:1' }
    await using dev = await startDev([], { ...environment, ...proxied })
    expect(await dev.post(paths.testEvent)).toMatchObject({ ingested: 1 })
    const joined = await run('process.exit(5)', ['--port', new URL(dev.url).port], proxied)
    expect(joined.code).toBe(5)
    const { stdout } = await logferry(['logs'], { LOGFERRY_URL: dev.url, ...proxied })
    expect(stdout).toContain('A test event of logferry dev')
  })

  it('joins a private one with its token', async () => {
    await using dev = await startDev(['--private'], environment)
    const { code } = await run('process.exit(6)', ['--port', new URL(dev.url).port])
    expect(code).toBe(6)
  })

  it.each([
    ['answers something else', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'],
    ['answers without end', `HTTP/1.1 200 OK\r\n\r\n${' '.repeat(100_000)}`],
  ])('says so and ends with 1 if another program, which %s, has the port', async (_, answer) => {
    const server = createServer(socket => {
      socket.on('error', () => {})
      socket.write(answer)
      if (answer.endsWith('{}')) socket.end()
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    try {
      const { port } = server.address() as { port: number }
      const { code, stderr } = await run('', ['--port', String(port)])
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: `logferry: another program uses port ${port} of 127.0.0.1. Choose another port with --port.\n`,
      })
    } finally {
      server.close()
    }
  })
})

describe('a program that holds the port of logferry dev', () => {
  const token = 'a-token-to-steal'

  /** Runs a program that is to join the dev service at a server. Returns how it ended, and what the server was sent. */
  async function runAgainst(answer: (body: string) => Promise<string>) {
    let sent = ''
    const server = createHttpServer(async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      sent += `${JSON.stringify(request.headers)} ${body}`
      response.end(await answer(body))
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    try {
      const { port } = server.address() as AddressInfo
      const { code, stdout } = await run('console.log("ran")', ['--port', String(port), '--token', token])
      return { code, stdout, sent }
    } finally {
      server.close()
    }
  }

  it('is sent no token, and gets no events by naming one', async () => {
    const answer = JSON.stringify({ token, proof: 'none', orgId: 'emulated-org' })
    const { code, stdout, sent } = await runAgainst(async () => answer)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(sent).toContain('nonce')
    expect(sent).not.toContain(token)
  })

  it('gets no events by passing the question on to the dev service at another port', async () => {
    await using dev = await startDev(['--token', token])
    let passed: unknown
    const { code, stdout } = await runAgainst(async body => {
      const headers = { 'content-type': 'application/json', [writeHeader]: '1' }
      const answer = await dev.raw(paths.join, { method: 'POST', headers, body })
      passed = answer.status
      return answer.body
    })
    expect({ code, stdout, passed }).toEqual({ code: 1, stdout: '', passed: 403 })
  })
})

describe('logferry dev', () => {
  it.each([
    ['status=200', "--fault 'status=200': status must be from 300 to 599"],
    ['reject=/x/', '--fault: the query of reject may not have patterns between slashes'],
  ])('exits with 2 for an invalid fault, and says what is expected: %s', async (fault, problem) => {
    const { code, stdout, stderr } = await logferry(['dev', '--port', '0', '--fault', fault], environment)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(`logferry: ${problem}`)
  })

  it.each([
    ['[1]', '--limits: the file must have an object'],
    ['{', '--limits: the file must have a JSON object'],
  ])('exits with 2 for limits like %s', async (text, problem) => {
    const file = join(home, `limits-${Buffer.from(text).toString('hex')}.json`)
    writeFileSync(file, text)
    const { code, stderr } = await logferryInTurn(['dev', '--port', '0', '--limits', file], environment)
    expect(code).toBe(2)
    expect(stderr).toContain(problem)
  })

  it('enforces the limits of a file', async () => {
    const file = join(home, 'limits.json')
    writeFileSync(file, '\ufeff{"maxFields": 1}\r\n') // as editors on Windows write it
    await using dev = await startDev(['--limits', file], environment)
    expect(JSON.parse((await dev.ingest([{ a: 1 }, { b: 1 }])).body)).toMatchObject({ ingested: 1, failed: 1 })
  })

  it.each([
    ['beside fields of the license', '{"maxFields": 256, "paymentStatus": "blocked"}'],
    ['of a whole organization', '{"license": {"maxFields": 256}, "paymentStatus": "blocked"}'],
  ])('answers 403 if a file has a payment %s that is blocked', async (_, text) => {
    const file = join(home, 'payment.json')
    writeFileSync(file, text)
    await using dev = await startDev(['--limits', file], environment)
    expect((await dev.ingest([{ a: 1 }])).status).toBe(403)
  })

  it('has the same token in each run, in a file that only its user may read', async () => {
    const stateHome = mkdtempSync(join(tmpdir(), 'logferry-state-'))
    const own = { XDG_STATE_HOME: stateHome, HOME: stateHome }
    try {
      const tokens: string[] = []
      for (const _ of [1, 2]) {
        await using dev = await startDev([], own)
        tokens.push(dev.token)
      }
      expect(tokens[0]).toBe(tokens[1])
      expect(statSync(join(stateHome, 'logferry', 'dev-token')).mode & 0o777).toBe(0o600)
      await using dev = await startDev(['--token', 'my-own-token'], own)
      expect(dev.token).toBe('my-own-token')
    } finally {
      rmSync(stateHome, { recursive: true })
    }
  })

  it.runIf(process.platform === 'linux')(
    'uses a token of this run, and says why, where no directory can be made',
    async () => {
      await using dev = await startDev([], { XDG_STATE_HOME: '/proc/none' })
      await dev.process.until(/the token is for this run only: ENOENT: no such file or directory, mkdir '\/proc\/none'/)
    },
  )

  it('uses a token of this run, and leaves no file behind, where the disk is full', async context => {
    const stateHome = mkdtempSync(join(tmpdir(), 'logferry-state-'))
    try {
      using disk = mounted(stateHome, 'size=4k,mode=0700')
      if (disk === undefined) return context.skip()
      writeFileSync(join(stateHome, 'other'), 'x'.repeat(4096))
      await using dev = await startDev([], { XDG_STATE_HOME: stateHome })
      await dev.process.until(/the token is for this run only: ENOSPC/)
      expect(readdirSync(join(stateHome, 'logferry'))).toEqual([])
    } finally {
      rmSync(stateHome, { recursive: true })
    }
  })

  it.skipIf(process.platform === 'win32')('replaces a pipe in place of the file of the token', async () => {
    const stateHome = mkdtempSync(join(tmpdir(), 'logferry-state-'))
    const file = join(stateHome, 'logferry', 'dev-token')
    try {
      mkdirSync(join(stateHome, 'logferry'))
      mustRunSync('mkfifo', ['-m', '600', file])
      await using dev = await startDev([], { XDG_STATE_HOME: stateHome })
      expect(readFileSync(file, 'utf8')).toBe(`${dev.token}\n`)
    } finally {
      rmSync(stateHome, { recursive: true })
    }
  })

  it('uses a token of this run, and says why, if other users may have read the file', async () => {
    const stateHome = mkdtempSync(join(tmpdir(), 'logferry-state-'))
    const own = { XDG_STATE_HOME: stateHome, HOME: stateHome }
    try {
      await (await startDev([], own))[Symbol.asyncDispose]()
      chmodSync(join(stateHome, 'logferry', 'dev-token'), 0o644)
      await using dev = await startDev([], own)
      await dev.process.until(/the token is for this run only: other users may read or write/)
    } finally {
      rmSync(stateHome, { recursive: true })
    }
  })
})
