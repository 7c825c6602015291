/** `logferry check` as it is built, with failures made on purpose: it names each, and what to do. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createSecureServer as createHttp2Server } from 'node:http2'
import { createServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { describe, expect, it } from 'vitest'
import { command, settingsOf } from '../src/cli/check.ts'
import { runChecks } from '../src/cli/checks/run-checks.ts'
import { type Emulator, type EmulatorOptions, startEmulator } from '../src/emulator.ts'
import { startFaultServer } from './support/fault-server.ts'
import { hostileText, unprintable } from './support/hostile-text.ts'
import { logferry, logferryInTurn } from './support/logferry.ts'
import { startProxy } from './support/proxy.ts'
import { canRun } from './support/run-sync.ts'

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const tlsOf = (name: string) => ({
  cert: readFileSync(pathOf(`${name}cert.pem`), 'utf8'),
  key: readFileSync(pathOf(`${name}key.pem`), 'utf8'),
})
const expired = './support/tls/expired.'
/** Its certificate is for `elsewhere.example`. */
const wrongHost = './support/tls/wrong-host.'
/** Its certificate is for `localhost` and 127.0.0.1. */
const trusted = './emulator/tls/'

const environmentOf = ({ url, token }: Pick<Emulator, 'url' | 'token'>): Record<string, string> => ({
  LOGFERRY_URL: url,
  LOGFERRY_TOKEN: token,
  LOGFERRY_DATASET: 'd',
})
const withOrganization = (emulator: Emulator): Record<string, string> => ({
  ...environmentOf(emulator),
  LOGFERRY_ORG_ID: emulator.orgId,
  LOGFERRY_ACCESS_TOKEN: emulator.accessToken,
})

interface Result {
  readonly name: string
  readonly status: 'ok' | 'warn' | 'fail' | 'skipped'
  readonly detail: string
  readonly remedy?: string
  readonly values?: Readonly<Record<string, unknown>>
}

/**
 * Runs the checks; as a process only if Node itself has to read its environment, because starting one takes ten times as
 * long. `of` returns a result by its name; `bad` lists the names of those that warn or fail.
 */
async function check(
  environment: Record<string, string>,
  args: readonly string[] = [],
  nodeOptions: readonly string[] = [],
) {
  const isOwnProcess = nodeOptions.length > 0 || Object.keys(environment).some(name => name.startsWith('NODE_'))
  const run = isOwnProcess ? checkByProcess : checkHere
  const { code, checks } = await run(environment, args, nodeOptions)
  for (const secret of [environment.LOGFERRY_TOKEN, environment.LOGFERRY_ACCESS_TOKEN]) {
    if (secret) expect(JSON.stringify(checks)).not.toContain(secret)
  }
  for (const { status, remedy = '' } of checks) {
    if (status === 'warn' || status === 'fail') expect(remedy).toMatch(/^[A-Z].*[.):]/)
  }
  return {
    code,
    of: (name: string) => checks.find(one => one.name === name),
    bad: checks.filter(({ status }) => status === 'warn' || status === 'fail').map(({ name }) => name),
    skipped: checks.filter(({ status }) => status === 'skipped').map(({ name }) => name),
  }
}

interface Outcome {
  readonly code: number | null
  readonly checks: readonly Result[]
}

async function checkByProcess(
  environment: Record<string, string>,
  args: readonly string[],
  nodeOptions: readonly string[],
): Promise<Outcome> {
  const { code, stdout, stderr } = await logferry(['check', '--json', ...args], environment, nodeOptions)
  expect(stderr).toBe('')
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Result[] }
  expect(code).toBe(ok ? 0 : 1)
  return { code, checks }
}

async function checkHere(environment: Record<string, string>, args: readonly string[]): Promise<Outcome> {
  const options = Object.fromEntries(
    Object.entries(command.options).map(([name, { value }]) => [
      name,
      { type: value === undefined ? ('boolean' as const) : ('string' as const) },
    ]),
  )
  const checks: Result[] = []
  const settings = settingsOf(parseArgs({ args: [...args], options }).values, environment)
  for await (const result of runChecks(settings)) checks.push(result)
  return { code: checks.some(({ status }) => status === 'fail') ? 1 : 0, checks }
}

async function emulated<T>(use: (emulator: Emulator) => Promise<T>, options: EmulatorOptions = {}): Promise<T> {
  await using emulator = await startEmulator(options)
  return await use(emulator)
}

describe.concurrent('logferry check', () => {
  it('prints one line for each check, and sends one event', async () => {
    await emulated(async emulator => {
      const { code, stdout, stderr } = await logferry(['check'], withOrganization(emulator))
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      const lines = stdout.trimEnd().split('\n')
      expect(lines.at(-1)).toBe('Events are delivered.')
      const names = lines.slice(0, -2).map(line => line.split(/ +/)[1])
      expect(names.join(' ')).toBe(
        'node options proxy dns connection tls answer clock token organization license region round-trip compression size ' +
          'event spool duplicates logs-api',
      )
      expect(stdout).toMatch(/^ok {7}license {7}1,000 requests\/s, 1,000 GB a month \(.*, 1,024 fields, 100 datasets/m)
      expect(stdout).toMatch(/^skipped {2}size {10}only with --probe/m)
      expect(stdout).not.toContain(emulator.token)
      expect(stdout).not.toContain('\u001b')
      expect(emulator.events('d')).toMatchObject([{ level: 'info', message: 'logferry check' }])
    })
  })

  it('has colors if FORCE_COLOR asks for them', async () => {
    const { stdout } = await logferry(['check'], { FORCE_COLOR: '1' })
    expect(stdout).toContain('\u001b[31mfail')
  })

  it('prefers --url and --dataset to the environment', async () => {
    await emulated(async emulator => {
      const elsewhere = { ...environmentOf(emulator), LOGFERRY_URL: 'http://127.0.0.1:1' }
      const { code } = await check(elsewhere, ['--url', emulator.url, '--dataset', 'from-option'])
      expect(code).toBe(0)
      expect(emulator.eventCount('from-option')).toBe(1)
    })
  })

  it.each([
    [['--timeout', 'soon'], '--timeout must be a number of seconds from 0.1 to 600'],
    [['--ca', '/no/such/file'], "--ca must be a file that can be read, not '/no/such/file' (ENOENT)"],
    [['--spool', ''], '--spool must be a path'],
  ])('exits with 2 for %j', async (args, problem) => {
    const { code, stdout, stderr } = await logferryInTurn(['check', ...args])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(problem)
  })
})

describe.concurrent('logferry check, options:', () => {
  const complete = { LOGFERRY_URL: 'http://127.0.0.1:1', LOGFERRY_TOKEN: 'some-secret', LOGFERRY_DATASET: 'd' }

  it.each([
    ['no token', { LOGFERRY_TOKEN: '' }, /`token` must be/, /Set LOGFERRY_TOKEN/],
    ['no dataset', { LOGFERRY_DATASET: '' }, /`dataset` must be/, /Set LOGFERRY_DATASET/],
    [
      'an address of another kind',
      { LOGFERRY_URL: 'ftp://host' },
      /`baseUrl` \(from LOGFERRY_URL\) must be an http\(s\)/,
      /Set LOGFERRY_URL/,
    ],
    ['plain http elsewhere', { LOGFERRY_URL: 'http://a.example' }, /must be an https: address/, /Set LOGFERRY_URL/],
    [
      'a malformed token',
      { LOGFERRY_TOKEN: 'some secret' },
      /`token` \(from LOGFERRY_TOKEN\) must be a token of visible ASCII/,
      /Set LOGFERRY_/,
    ],
    [
      'an unknown region',
      { LOGFERRY_REGION: 'mars' },
      /`region` \(from LOGFERRY_REGION\) must be 'us' or 'eu'/,
      /'us' or 'eu'/,
    ],
  ])('%s', async (_, change, detail, remedy) => {
    const { bad, of, skipped } = await check({ ...complete, ...change })
    expect(bad).toEqual(['options'])
    expect(of('options')?.detail).toMatch(detail)
    expect(of('options')?.remedy).toMatch(remedy)
    expect(of('event')?.detail).toBe("needs the check 'options', which failed")
    expect(skipped).toContain('tls')
  })

  it('repeats no hostile text', async () => {
    const url = 'http://\u001b[2J\nlogferry: forged\u009b'
    const { code, stdout } = await logferry(['check', '--url', url, '--dataset', 'a\u009b2J\u202e\u2028b'], complete)
    expect(code).toBe(1)
    expect(stdout).not.toMatch(unprintable)
    expect(stdout).not.toMatch(/^logferry: forged/m)
  })

  it('warns of plain http to another host', async () => {
    await emulated(async emulator => {
      const url = emulator.url.replace('127.0.0.1', '[::ffff:127.0.0.1]')
      const { code, bad, of } = await check(environmentOf(emulator), ['--url', url, '--allow-insecure'])
      expect({ code, bad }).toEqual({ code: 0, bad: ['options'] })
      expect(of('options')).toMatchObject({ status: 'warn', detail: expect.stringMatching(/without TLS/) })
    })
  })
})

describe.concurrent('logferry check, the way to the service:', () => {
  const complete = { LOGFERRY_TOKEN: 'some-secret', LOGFERRY_DATASET: 'd' }

  it('an unknown host', async () => {
    const { bad, of } = await check({ ...complete, LOGFERRY_URL: 'https://no-such-host.invalid' })
    expect(bad).toEqual(['dns'])
    expect(of('dns')?.detail).toMatch(/^no name server (knows|answered for) no-such-host\.invalid/)
    expect(of('dns')?.remedy).toMatch(/^Check/)
  })

  it('a wrong port', async () => {
    const { bad, of } = await check({ ...complete, LOGFERRY_URL: 'https://127.0.0.1:1' })
    expect(bad).toEqual(['connection'])
    expect(of('connection')?.detail).toBe('nothing listens at 127.0.0.1 on port 1 (ECONNREFUSED)')
    expect(of('connection')?.remedy).toMatch(/^Check the port of LOGFERRY_URL/)
  })

  it('https where the service speaks http, and the other way around', async () => {
    await emulated(async emulator => {
      const { bad, of } = await check({ ...complete, LOGFERRY_URL: emulator.url.replace('http:', 'https:') })
      expect(bad).toEqual(['tls'])
      expect(of('tls')?.detail).toMatch(/does not speak TLS|closed the connection/)
    })
    await emulated(
      async emulator => {
        const { bad, of } = await check({ ...complete, LOGFERRY_URL: emulator.url.replace('https:', 'http:') })
        expect(bad).toEqual(['answer'])
        expect(of('answer')?.remedy).toMatch(/scheme/)
      },
      { tls: tlsOf(trusted) },
    )
  })

  const throughProxy = (port: number) => ({
    ...complete,
    LOGFERRY_URL: 'https://elsewhere.example',
    NODE_USE_ENV_PROXY: '1',
    HTTPS_PROXY: `http://user:pass-phrase@127.0.0.1:${port}`,
  })

  it.each([
    ['refuses the service', 403, /^Ask the operator of the proxy to allow elsewhere\.example/],
    ['refuses the password', 407, /^Correct the user name and password in the address of the proxy/],
    ['does not reach the service', 502, /^The proxy cannot reach the service/],
  ])('a proxy that %s', async (_, status, remedy) => {
    await using proxy = await startProxy('http://127.0.0.1:1', {
      onConnect: socket => socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`),
    })
    const { bad, of } = await check(throughProxy(proxy.port))
    expect(bad).toEqual(['proxy'])
    const detail = `the proxy http://127.0.0.1:${proxy.port} refuses elsewhere.example (status ${status})`
    expect(of('proxy')?.detail).toBe(detail)
    expect(of('proxy')?.remedy).toMatch(remedy)
  })

  it('a proxy that wants a password', async () => {
    await using proxy = await startProxy('http://127.0.0.1:1', {
      onConnect: socket => socket.end('HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n'),
    })
    const { of } = await check({ ...throughProxy(proxy.port), HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` })
    expect(of('proxy')?.remedy).toMatch(/^Put the user name and password of the proxy in its address/)
  })

  it('a proxy that is not there', async () => {
    const { bad, of } = await check(throughProxy(1))
    expect(bad).toEqual(['proxy'])
    expect(of('proxy')?.detail).toBe('nothing listens at the proxy http://127.0.0.1:1 (ECONNREFUSED)')
  })

  it('a proxy with a certificate of a private authority', async () => {
    await using proxy = await startEmulator({ tls: tlsOf(trusted) })
    const HTTPS_PROXY = proxy.url.replace('127.0.0.1', 'localhost')
    const args = ['--ca', pathOf(`${trusted}cert.pem`)]
    const { bad, of } = await check({ ...throughProxy(1), HTTPS_PROXY }, args)
    expect(bad).toEqual(['proxy'])
    expect(of('proxy')?.remedy).toMatch(/set NODE_EXTRA_CA_CERTS to its file\. .*--ca\) holds for the service only/)
  })

  it('a proxy that works, with a private CA, and no word of its password', async () => {
    await using service = await startEmulator({ tls: tlsOf(wrongHost), allowedHosts: ['elsewhere.example'] })
    await using proxy = await startProxy(service.url)
    const environment = { ...throughProxy(proxy.port), LOGFERRY_TOKEN: service.token }
    const args = ['check', '--json', '--ca', pathOf(`${wrongHost}cert.pem`)]
    const { code, stdout } = await logferry(args, environment)
    expect(code).toBe(0)
    expect(stdout).toContain(`"http://127.0.0.1:${proxy.port} leads to elsewhere.example"`)
    expect(stdout).toContain('not needed: the proxy looks up the name')
    expect(stdout).not.toContain('pass-phrase')
    expect(service.eventCount('d')).toBe(1)
  })

  it('a proxy that is set, but not used', async () => {
    await emulated(async emulator => {
      const url = emulator.url.replace('127.0.0.1', '[::ffff:127.0.0.1]')
      const environment = { ...environmentOf(emulator), LOGFERRY_URL: url, HTTP_PROXY: 'http://127.0.0.1:1' }
      const { code, of } = await check(environment, ['--allow-insecure'])
      expect(code).toBe(0)
      expect(of('proxy')).toMatchObject({ status: 'warn', detail: 'HTTP_PROXY is set, but Node does not use it' })
    })
  })

  it('a proxy for the other scheme', async () => {
    const proxies = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:1' }
    const { of } = await check({ ...complete, LOGFERRY_URL: 'https://logs.invalid', ...proxies })
    expect(of('proxy')?.detail).toMatch(/^none: HTTP_PROXY is set, but .* needs HTTPS_PROXY$/)
  })
})

describe.concurrent('logferry check, TLS:', () => {
  const withTls = (name: string, use: (emulator: Emulator) => Promise<void>) => emulated(use, { tls: tlsOf(name) })

  it.each([
    [
      'an expired certificate',
      expired,
      [],
      /^the certificate of .* expired on 20\d\d-\d\d-\d\d, \d+ days? ago/,
      /^Renew/,
    ],
    ['an expired certificate of a known CA', expired, ['--ca', expired], / expired on .*CERT_HAS_EXPIRED/, /^Renew/],
    [
      'an unknown CA',
      trusted,
      [],
      / is self-signed, and this machine does not trust it/,
      /NODE_EXTRA_CA_CERTS.*tls\.ca/,
    ],
    ['a certificate for another host', wrongHost, ['--ca', wrongHost], /is for elsewhere\.example, not/, /^Use a name/],
  ])('%s', async (_, name, [option, ca], detail, remedy) => {
    await withTls(name, async emulator => {
      const args = option === undefined ? [] : [option, pathOf(`${ca}cert.pem`)]
      const { bad, of } = await check(environmentOf(emulator), args)
      expect(bad).toEqual(['tls'])
      expect(of('tls')?.detail).toMatch(detail)
      expect(of('tls')?.remedy).toMatch(remedy)
      expect(of('event')?.status).toBe('skipped')
      expect(emulator.stats().requests).toBe(0)
    })
  })

  it('a private CA that is trusted', async () => {
    await withTls(trusted, async emulator => {
      const ca = pathOf(`${trusted}cert.pem`)
      const { code, of } = await check({ ...environmentOf(emulator), NODE_EXTRA_CA_CERTS: ca })
      expect(code).toBe(0)
      expect(of('tls')).toMatchObject({
        detail: expect.stringMatching(/a private authority, valid until .* days left\)$/),
      })
      expect(of('tls')?.values).toMatchObject({ isPrivate: true, daysLeft: expect.any(Number) })
      expect((await check(environmentOf(emulator), ['--ca', ca])).code).toBe(0)
    })
  })

  it('a server that wants a client certificate', async () => {
    const asking = { ...tlsOf(trusted), ca: tlsOf(wrongHost).cert, requestCert: true }
    const server = createServer(asking, (request, response) => request.resume().on('end', () => response.end('{}')))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    const ca = ['--ca', pathOf(`${trusted}cert.pem`)]
    const { bad, of } = await check(environmentOf({ url, token: 'some-secret' }), ca)
    expect(bad).toEqual(['answer'])
    expect(of('answer')?.remedy).toMatch(/--cert and --key/)
    const own = ['--cert', pathOf(`${wrongHost}cert.pem`), '--key', pathOf(`${wrongHost}key.pem`)]
    expect((await check(environmentOf({ url, token: 'some-secret' }), [...ca, ...own])).bad).toEqual([])
    server.close()
  })

  it('a server that does not know the name of the host', async () => {
    const unrecognizedName = Buffer.from('15030300020270', 'hex')
    const server = createTcpServer(socket => socket.once('data', () => socket.end(unrecognizedName))).listen(
      0,
      '127.0.0.1',
    )
    await once(server, 'listening')
    const url = `https://localhost:${(server.address() as AddressInfo).port}`
    expect((await check(environmentOf({ url, token: 'some-secret' }))).of('tls')).toMatchObject({
      status: 'fail',
      detail: expect.stringMatching(/ does not know the name localhost: /),
      remedy: expect.stringMatching(/^Check the host of LOGFERRY_URL/),
    })
    server.close()
  })

  it('a server that speaks HTTP/2 alone', async () => {
    await using server = createHttp2Server(tlsOf(trusted))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    const ca = ['--ca', pathOf(`${trusted}cert.pem`)]
    expect((await check(environmentOf({ url, token: 'some-secret' }), ca)).of('tls')).toMatchObject({
      status: 'fail',
      detail: expect.stringMatching(/ does not speak HTTP\/1\.1 with TLS: .*no application protocol$/),
      remedy: expect.stringMatching(/allowH2: true/),
    })
  })

  it('verification that is turned off', async () => {
    await withTls(trusted, async emulator => {
      const environment = { ...environmentOf(emulator), NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_NO_WARNINGS: '1' }
      const { of } = await check({ ...environment, NODE_EXTRA_CA_CERTS: pathOf(`${trusted}cert.pem`) })
      expect(of('tls')).toMatchObject({ status: 'warn', remedy: expect.stringMatching(/^Unset NODE_TLS_REJECT/) })
    })
  })
})

describe.concurrent('logferry check, the service:', () => {
  it('a wrong token', async () => {
    await emulated(async emulator => {
      const { bad, of, skipped } = await check({ ...environmentOf(emulator), LOGFERRY_TOKEN: 'wrong-secret' })
      expect(bad).toEqual(['token'])
      expect(of('token')?.detail).toMatch(/refuses the API token \(status 403: the token is unknown\)/)
      expect(of('token')?.remedy).toMatch(/^Check that LOGFERRY_TOKEN is valid and complete, may ingest into 'd'/)
      expect(skipped).toContain('event')
      const withOrg = await check({
        ...withOrganization(emulator),
        LOGFERRY_TOKEN: 'wrong-secret',
        LOGFERRY_ACCESS_TOKEN: '',
      })
      expect(withOrg.bad).toEqual(['token', 'organization'])
      expect(withOrg.of('organization')?.remedy).toMatch(/^Only the option limits needs the organization: /)
    })
  })

  it('a personal access token in the place of an API token', async () => {
    const tokens = [{ kind: 'personal', token: 'personal-token' }] as const
    await emulated(
      async emulator => {
        const environment = { ...withOrganization(emulator), LOGFERRY_TOKEN: 'personal-token' }
        const wrong = await check(environment)
        expect(wrong.bad).toEqual(['token'])
        expect(wrong.of('token')).toMatchObject({ remedy: expect.stringMatching(/personalAccessToken.*--personal/) })
        const right = await check(environment, ['--personal'])
        expect(right.bad).toEqual([])
        expect(right.of('token')?.detail).toBe("the personal access token may send events to 'd'")
      },
      { tokens },
    )
  })

  it.each([
    ['a path that is none', { status: 404 }, /no such dataset or path \(status 404/, /^Check the path of LOGFERRY_URL/],
    [
      'a redirect',
      { status: 307, headers: { location: 'https://b.example/x' } },
      /redirects to https:\/\/b\.example/,
      /^Set/,
    ],
    ['a web page', { status: 200, body: '<html>Log in</html>' }, /is a web page/, /^Check the host and path/],
    ['a web page with 400', { status: 400, body: '<h1>No certificate</h1>' }, /status 400: No c/, /--cert and --key/],
    [
      'a web page with 403',
      { status: 403, body: '<h1>Blocked</h1>' },
      /is a web page.*Blocked/,
      /firewall.*LOGFERRY_TOKEN/,
    ],
    ['a status that the service does not have', { status: 421, body: '' }, /no batch .*421/, /^Check LOGFERRY_URL/],
    ['a 407', { status: 407, body: '' }, /no batch .*407/, /^Put the user name and password of the proxy/],
    ['trouble', { status: 503, body: { message: 'later' } }, /has trouble \(status 503: later\)/, /^Try again later/],
    ['the rate limit', { status: 429, headers: { 'retry-after': '30' } }, /rate limit .* for 30 s more/, /limits/],
  ])('%s', async (_, answer, detail, remedy) => {
    await emulated(async emulator => {
      emulator.faults.answerNext(Number.POSITIVE_INFINITY, answer)
      const { bad, of } = await check(environmentOf(emulator))
      expect(bad).toEqual(['answer'])
      expect(of('answer')?.detail).toMatch(detail)
      expect(of('answer')?.remedy).toMatch(remedy)
    })
  })

  it('no answer in time', async () => {
    await emulated(async emulator => {
      emulator.faults.latencyMs = 60_000
      const { bad, of } = await check(environmentOf(emulator), ['--timeout', '0.5'])
      expect(bad).toEqual(['answer'])
      expect(of('answer')?.detail).toMatch(/ did not answer within 0\.5 s$/)
      expect(of('answer')?.remedy).toMatch(/longer --timeout/)
    })
  })

  it('slow answers', async () => {
    await emulated(async emulator => {
      let requests = 0
      emulator.faults.latencyMs = () => (++requests <= 4 ? 1100 : 0)
      const { code, bad, of } = await check(environmentOf(emulator))
      expect({ code, bad }).toEqual({ code: 0, bad: ['round-trip'] })
      expect(of('round-trip')?.detail).toMatch(/^an answer takes \d,\d{3} ms/)
    })
  })

  it('a compression that is refused', async () => {
    await emulated(async emulator => {
      emulator.faults.refuseEncodings(['zstd'])
      const { code, of } = await check(environmentOf(emulator))
      expect(code).toBe(0)
      expect(of('compression')).toMatchObject({
        status: 'warn',
        detail: 'accepts gzip; zstd is refused (status 415)',
        remedy: expect.stringMatching(/^Set the option compression to 'gzip'/),
      })
    })
  })

  it('a compression that a gateway refuses with 403, and one that it refuses once', async () => {
    let requests = 0
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      if (/content-encoding: zstd/i.test(request.head)) request.answer('403 Forbidden', '{}')
      else if (/content-encoding: gzip/i.test(request.head) && requests++ === 0) request.answer('503 Busy', '{}')
      else request.answer('200 OK', '{}')
    })
    const first = await check(environmentOf({ url: server.url, token: 'some-secret' }))
    expect(first.of('compression')?.detail).toBe('the service answers 503 to gzip: try again later')
    const { code, of } = await check(environmentOf({ url: server.url, token: 'some-secret' }))
    expect(code).toBe(0)
    expect(of('compression')).toMatchObject({ status: 'warn', detail: 'accepts gzip; zstd is refused (status 403)' })
  })

  it('a size that is refused', async () => {
    await emulated(async emulator => {
      emulator.faults.maxBytes(600_000)
      const { code, of } = await check(environmentOf(emulator), ['--probe'])
      expect(code).toBe(0)
      expect(of('size')).toMatchObject({
        status: 'warn',
        detail: 'accepts requests of 256 KiB; the next size tried is refused: status 413',
        remedy: expect.stringMatching(/^Set maxBatchBytes to 262144/),
      })
      expect(emulator.eventCount('d')).toBe(1)
    })
  })

  it('batches without events that are refused, as some services do', async () => {
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      const isEmpty = !request.head.includes('application/x-ndjson')
      request.answer(isEmpty ? '400 Bad Request' : '200 OK', isEmpty ? '{"message":"no events"}' : '{}')
    })
    const { bad, of } = await check(environmentOf({ url: server.url, token: 'some-secret' }))
    expect(bad).toEqual([])
    expect(of('answer')?.detail).toBe('the service answers (status 400: no events)')
    expect(of('compression')?.detail).toBe('accepts zstd and gzip')
    expect(of('event')?.status).toBe('ok')
    expect(of('clock')?.status).toBe('skipped')
  })

  it('a server that repeats the token, and sends texts against the terminal', async () => {
    const token = 'a-secret-of-tests'
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      const message = hostileText(`Bearer ${token}`, Buffer.from(token).toString('base64'))
      request.answer('403 Forbidden', JSON.stringify({ message }))
    })
    for (const args of [['check'], ['check', '--json']]) {
      const { code, stdout } = await logferry(args, environmentOf({ url: server.url, token }))
      expect(code).toBe(1)
      expect(stdout).toMatch(/refuses the API token \(status 403/)
      expect(stdout).not.toMatch(unprintable)
      expect(stdout).not.toMatch(/^logferry: forged/m)
      expect(stdout).not.toContain(token)
      expect(stdout).not.toContain(Buffer.from(token).toString('base64'))
      expect(stdout.length).toBeLessThan(10_000)
    }
  })

  it('an event that is refused', async () => {
    await emulated(async emulator => {
      emulator.faults.rejectEvents(() => true, 'too many fields')
      const { bad, of } = await check(environmentOf(emulator))
      expect(bad).toEqual(['event'])
      expect(of('event')?.detail).toMatch(/refused 1 event .*too many fields/)
    })
  })

  it.each([
    ['ahead of', 3_600_000],
    ['behind', -3_600_000],
  ])('a clock that is an hour %s that of the service', async (side, ms) => {
    await emulated(async emulator => {
      const shift = `const now = Date.now; Date.now = () => now() + ${ms}`
      const preload = ['--import', `data:text/javascript,${encodeURIComponent(shift)}`]
      const { bad, of } = await check(environmentOf(emulator), [], preload)
      expect(bad).toEqual(['clock'])
      expect(of('clock')?.detail).toBe(`the clock of this machine is 60 minutes ${side} that of the service`)
      expect(of('clock')?.remedy).toMatch(/NTP/)
    })
  })
})

describe.concurrent('logferry check, the organization:', () => {
  const days = (count: number) => new Date(Date.now() + count * 86_400_000).toISOString()

  it.each([
    [
      'a license that has expired',
      { license: { expiresAt: days(-3) } },
      'license',
      'fail',
      /^the license expired at/,
      /Renew/,
    ],
    [
      'a license that expires soon',
      { license: { expiresAt: days(3) } },
      'license',
      'warn',
      /^the license expires at/,
      /Renew/,
    ],
    [
      'a payment that failed',
      { paymentStatus: 'failed' },
      'organization',
      'warn',
      /payment failed/,
      /Settle the payment/,
    ],
    [
      'a payment that blocks',
      { paymentStatus: 'blocked' },
      'organization',
      'fail',
      /payment blocked/,
      /Settle the payment/,
    ],
    [
      'a foreign region',
      { license: { regions: ['us-east-1'] } },
      'region',
      'fail',
      /region eu, .* for us-east-1/,
      /^Set LOGF/,
    ],
    [
      'a foreign default region, and no list of regions',
      { license: { regions: [], defaultRegion: 'us-east-1' } },
      'region',
      'fail',
      /region eu, .* for us-east-1/,
      /^Set LOGF/,
    ],
  ] as const)('%s', async (_, org, name, status, detail, remedy) => {
    await emulated(
      async emulator => {
        const { bad, of } = await check({ ...withOrganization(emulator), LOGFERRY_REGION: 'eu' })
        expect(bad).toEqual([name])
        expect(of(name)).toMatchObject({
          status,
          detail: expect.stringMatching(detail),
          remedy: expect.stringMatching(remedy),
        })
      },
      { org: org as EmulatorOptions['org'] },
    )
  })

  it('a license with 0 for no limit', async () => {
    const license = { apiRateLimitPerSecond: 0, maxFields: 0, maxDatasets: 0, monthlyIngestGb: 500 }
    await emulated(
      async emulator => {
        const { of } = await check(withOrganization(emulator))
        expect(of('license')).toMatchObject({ status: 'ok', detail: expect.stringMatching(/^500 GB a month/) })
        expect(of('license')?.detail).not.toMatch(/requests|fields|datasets/)
      },
      { org: { license } },
    )
  })

  it('a foreign region that the name of the host tells', async () => {
    const options: EmulatorOptions = { org: { license: { regions: ['us-east-1'] } }, allowedHosts: ['eu.example'] }
    await using emulator = await startEmulator(options)
    await using proxy = await startProxy(emulator.url)
    const environment = {
      ...withOrganization(emulator),
      LOGFERRY_URL: 'http://eu.example',
      HTTP_PROXY: `http://127.0.0.1:${proxy.port}`,
      NODE_USE_ENV_PROXY: '1',
    }
    const { bad, of } = await check(environment, ['--allow-insecure'])
    expect(bad).toEqual(['options', 'region']) // the first one for want of TLS
    expect(of('proxy')?.detail).toBe(`http://127.0.0.1:${proxy.port} leads to eu.example`)
    expect(of('region')?.detail).toBe('the address is that of the region eu, but the license is for us-east-1')
  })

  it('a token that may not read it, which is no failure', async () => {
    await emulated(async emulator => {
      const { code, bad, of } = await check({ ...environmentOf(emulator), LOGFERRY_ORG_ID: emulator.orgId })
      expect({ code, bad }).toEqual({ code: 0, bad: ['organization'] })
      expect(of('organization')?.remedy).toMatch(/LOGFERRY_ACCESS_TOKEN.*limits\.accessToken/)
      expect(of('license')?.status).toBe('skipped')
    })
  })

  it('an unknown id', async () => {
    await emulated(async emulator => {
      const { of } = await check({ ...withOrganization(emulator), LOGFERRY_ORG_ID: 'unknown' })
      expect(of('organization')?.remedy).toMatch(/LOGFERRY_ORG_ID/)
    })
  })
})

describe.concurrent('logferry check, the spool:', () => {
  /** Runs only this check to its end: the others fail for want of an address. */
  const spoolCheck = async (directory: string) => (await check({}, ['--spool', directory])).of('spool')

  it('leaves nothing behind', async () => {
    using folder = temporaryFolder()
    const result = await spoolCheck(join(folder.path, 'a', 'b'))
    expect(result).toMatchObject({
      status: expect.stringMatching(/ok|warn/),
      detail: expect.stringMatching(/locks work/),
    })
    expect(readdirSync(folder.path)).toEqual([])
  })

  it('a file in the place of the directory', async () => {
    using folder = temporaryFolder()
    const file = join(folder.path, 'file')
    writeFileSync(file, '')
    expect(await spoolCheck(file)).toMatchObject({ status: 'fail', remedy: expect.stringMatching(/There is a file/) })
    expect(await spoolCheck(join(file, 'spool'))).toMatchObject({
      status: 'fail',
      remedy: expect.stringMatching(/is a file/),
    })
  })

  it.skipIf(process.platform === 'win32')('a directory that every user may write to', async () => {
    using folder = temporaryFolder()
    chmodSync(folder.path, 0o777)
    expect(await spoolCheck(folder.path)).toMatchObject({
      status: 'fail',
      detail: expect.stringMatching(/any user may write to/),
      remedy: expect.stringMatching(/chmod 700/),
    })
  })

  const mayMount = canRun('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'none', '/mnt'])
  it.runIf(mayMount).each([
    ['a full disk', 'size=64k', '', /ENOSPC/, /^The disk is full/],
    ['a file system that is read-only', 'ro', '', /EROFS/, /^The file system is read-only/],
    ['a missing directory on such a file system', 'ro', '/a/b', /EROFS/, /^The file system is read-only/],
    ['little room', 'size=10m', '', /10\.0 MiB are free/, /spool\.maxBytes/],
  ])('%s', async (_, mountOptions, below, detail, remedy) => {
    using folder = temporaryFolder()
    const main = pathOf('../dist/cli/main.cjs')
    const script = `mount -t tmpfs -o mode=0700,${mountOptions} none "$1" && exec "$2" "$3" check --json --spool "$1$4"`
    const args = ['-rm', 'sh', '-c', script, 'sh', folder.path, process.execPath, main, below]
    const { promise, resolve } = Promise.withResolvers<string>()
    execFile('unshare', args, { env: { PATH: process.env.PATH } }, (_error, stdout) => resolve(stdout))
    const stdout = await promise
    const result = (JSON.parse(stdout) as { checks: Result[] }).checks.find(({ name }) => name === 'spool')
    expect(result?.detail).toMatch(detail)
    expect(result?.remedy).toMatch(remedy)
  })
})

describe.concurrent('logferry check, log calls that are shipped twice:', () => {
  const winston = { winston: '3', logferry: '0', '@opentelemetry/instrumentation-winston': '0' }

  /** Checks an application with these dependencies. */
  async function duplicates(dependencies: Record<string, string>, environment: Record<string, string> = {}) {
    using folder = temporaryFolder()
    // npm reads a file with a byte order mark as well.
    writeFileSync(join(folder.path, 'package.json'), `\ufeff${JSON.stringify({ dependencies })}`)
    const sender = join(folder.path, 'node_modules/@opentelemetry/winston-transport')
    mkdirSync(sender, { recursive: true })
    writeFileSync(join(sender, 'index.js'), '')
    return (await check(environment, ['--app', folder.path])).of('duplicates')
  }

  it('names what ships logs a second time, and how to switch it off', async () => {
    expect(await duplicates(winston)).toMatchObject({
      status: 'warn',
      detail: expect.stringMatching(/^package\.json has @opentelemetry\/instrumentation-winston: .* shipped twice/),
      remedy: expect.stringMatching(/OTEL_NODE_DISABLED_INSTRUMENTATIONS=winston.*disableLogSending/),
    })
  })

  it('says if it ships them to the same service', async () => {
    const same = { LOGFERRY_URL: 'https://a.example', OTEL_EXPORTER_OTLP_ENDPOINT: 'https://a.example:4318' }
    expect((await duplicates(winston, same))?.values).toMatchObject({ isSameService: true })
  })

  it.each([
    ['the instrumentation is switched off', winston, { OTEL_NODE_DISABLED_INSTRUMENTATIONS: 'http, winston' }],
    ['no logs are exported', winston, { OTEL_LOGS_EXPORTER: 'none' }],
    ['only others are switched on', winston, { OTEL_NODE_ENABLED_INSTRUMENTATIONS: 'http' }],
    ['OpenTelemetry is not there', { winston: '3' }, {}],
  ])('is content if %s', async (_, dependencies, environment) => {
    expect((await duplicates(dependencies, environment as Record<string, string>))?.status).toBe('ok')
  })

  it('is content if the records of the second way reach no provider, which logs-api tells', async () => {
    using folder = temporaryFolder()
    const [sdk, sender] = ['@opentelemetry/sdk-logs', '@opentelemetry/winston-transport']
    const dependencies = { ...winston, [sdk]: '3.1.1', [sender]: '0.34.0' }
    writeFileSync(join(folder.path, 'package.json'), JSON.stringify({ dependencies }))
    for (const [name, version] of Object.entries(dependencies)) {
      const directory = join(folder.path, 'node_modules', name)
      const own = name === sender ? { '@opentelemetry/api-logs': '0.223.0' } : {}
      mkdirSync(directory, { recursive: true })
      writeFileSync(join(directory, 'package.json'), JSON.stringify({ name, version, dependencies: own }))
      writeFileSync(join(directory, 'index.js'), '')
    }
    const checked = await check({}, ['--app', folder.path])
    expect(checked.of('duplicates')).toMatchObject({
      status: 'ok',
      detail: expect.stringMatching(/winston-transport reach no provider of @opentelemetry\/sdk-logs 3\.1\.1$/),
    })
    expect(checked.of('logs-api')?.status).toBe('warn')
  })

  it('is skipped without a package.json', async () => {
    using folder = temporaryFolder()
    expect((await check({}, ['--app', folder.path])).of('duplicates')).toMatchObject({
      status: 'skipped',
      detail: expect.stringMatching(/--app <directory>/),
    })
  })
})

describe.concurrent('logferry check, the Logs API', () => {
  const api = '@opentelemetry/api'
  const apiLogs = '@opentelemetry/api-logs'
  const sdk = '@opentelemetry/sdk-logs'
  const bridge = '@opentelemetry/winston-transport'

  /** Checks an application with these dependencies, all installed, and others that they have installed. */
  async function logsApi(dependencies: Record<string, string>, others: Record<string, string> = {}) {
    using folder = temporaryFolder()
    writeFileSync(join(folder.path, 'package.json'), JSON.stringify({ dependencies }))
    for (const [name, version] of Object.entries({ ...dependencies, ...others })) {
      const directory = join(folder.path, 'node_modules', name)
      const own = name === bridge ? { [apiLogs]: '0.223.0' } : {}
      mkdirSync(directory, { recursive: true })
      writeFileSync(join(directory, 'package.json'), JSON.stringify({ name, version, exports: {}, dependencies: own }))
    }
    return (await check({}, ['--app', folder.path])).of('logs-api')
  }

  it.each([
    [
      'the older API with the SDK 3.x',
      { [sdk]: '3.1.1', [api]: '1.10.0', [apiLogs]: '0.223.0' },
      apiLogs,
      /^Import logs/,
    ],
    ['a bridge of the older API with the SDK 3.x', { [sdk]: '3.1.1', [bridge]: '0.34.0' }, bridge, /^Import logs/],
    [
      'the newer API with the SDK 0.x',
      { [sdk]: '0.223.0', [api]: '1.10.0' },
      api,
      /^Install @opentelemetry\/sdk-logs 3/,
    ],
  ])('warns of %s', async (_, dependencies, culprit, remedy) => {
    expect(await logsApi(dependencies)).toMatchObject({
      status: 'warn',
      detail: expect.stringMatching(/reach no provider .* lost without an error$/),
      remedy: expect.stringMatching(remedy),
      values: { packages: [culprit] },
    })
  })

  it.each<[name: string, dependencies: Record<string, string>, others?: Record<string, string>]>([
    ['the API of the SDK 3.x', { [sdk]: '3.1.1', [api]: '1.10.0' }],
    ['the API of the SDK 0.x', { [sdk]: '0.223.0', [api]: '1.9.0', [apiLogs]: '0.223.0' }],
    ['the API of the SDK 0.x beside the newer one', { [sdk]: '0.223.0', [api]: '1.10.0', [apiLogs]: '0.223.0' }],
    ['a bridge of the older API with the SDK 0.x', { [sdk]: '0.223.0', [api]: '1.10.0', [bridge]: '0.34.0' }],
    ['an SDK of logs that the one for traces has installed', { [api]: '1.10.0' }, { [sdk]: '0.223.0' }],
    ['no SDK', { [apiLogs]: '0.223.0' }],
  ])('is content with %s', async (_, dependencies, others = {}) => {
    expect((await logsApi(dependencies, others))?.status).toBe('ok')
  })

  it('is skipped without a package.json', async () => {
    using folder = temporaryFolder()
    expect((await check({}, ['--app', folder.path])).of('logs-api')?.status).toBe('skipped')
  })
})

function temporaryFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'logferry-check-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}
