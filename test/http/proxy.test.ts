import { EventEmitter, once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { type Emulator, startEmulator } from '../../src/emulator.ts'
import { createShipper, type ShipperOptions, type Warning } from '../../src/index.ts'
import { proxyHint } from '../../src/options/proxy-env.ts'
import { createOrgClient } from '../../src/org.ts'
import { core, upTo } from '../exit/running.ts'
import { numbersIn } from '../support/emulated.ts'
import { type ForwardProxy, startProxy } from '../support/proxy.ts'
import { runScript } from '../support/run-script.ts'

const file = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
const ours = { key: file('../support/tls/wrong-host.key.pem'), cert: file('../support/tls/wrong-host.cert.pem') }
const others = { key: file('../emulator/tls/key.pem'), cert: file('../emulator/tls/cert.pem') }
/** The name in our certificate, which no DNS server knows. */
const host = 'elsewhere.example'
const token = 'xaat-token-of-tests'
const password = 'word-of-the-proxy'

const startService = () => startEmulator({ allowedHosts: [host], tls: ours })
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`

/** Ships 7 events. Returns the warnings until the events are delivered, or until the first warning. */
async function ship(options: ShipperOptions): Promise<{ delivered: number; warnings: string }> {
  const shipper = createShipper({ token, dataset: 'd', baseUrl: `https://${host}`, tls: { ca: ours.cert }, ...options })
  const warnings: Warning[] = []
  const told = new EventEmitter()
  shipper.on('warning', warning => {
    warnings.push(warning)
    told.emit('warning')
  })
  for (let n = 0; n < 7; n++) shipper.ship({ n })
  await Promise.race([shipper.flush({ timeoutMs: 20_000 }), once(told, 'warning')])
  const { delivered } = shipper.stats()
  const soFar = warnings.map(({ message }) => message).join('\n')
  await shipper.close({ timeoutMs: 0 })
  return { delivered, warnings: soFar }
}

/** Returns the environment of a process that reaches the service through proxies. */
const environment = (emulator: Pick<Emulator, 'token'>, proxy: ForwardProxy): Record<string, string> => ({
  LOGFERRY_URL: `https://${host}`,
  LOGFERRY_TOKEN: emulator.token,
  LOGFERRY_DATASET: 'd',
  NODE_EXTRA_CA_CERTS: fileURLToPath(new URL('../support/tls/wrong-host.cert.pem', import.meta.url)),
  NODE_USE_ENV_PROXY: '1',
  https_proxy: `http://user:${password}@127.0.0.1:${proxy.port}`,
})

describe.concurrent('a proxy', () => {
  it('of the option proxyEnv gets the host of the service and its own credentials, and no token', async () => {
    await using emulator = await startService()
    await using proxy = await startProxy(emulator.url)
    const proxyEnv = { HTTPS_PROXY: `http://user:${password}@127.0.0.1:${proxy.port}` }
    expect(await ship({ token: emulator.token, proxyEnv })).toEqual({ delivered: 7, warnings: '' })
    expect(proxy.asked).toEqual([`CONNECT ${host}:443`])
    expect(proxy.credentials).toEqual([basic(`user:${password}`)])
  })

  it('for plain HTTP gets the whole address', async () => {
    await using emulator = await startEmulator({ allowedHosts: [host] })
    await using proxy = await startProxy(emulator.url)
    const proxyEnv = { http_proxy: `http://127.0.0.1:${proxy.port}`, HTTPS_PROXY: 'http://127.0.0.1:9' }
    const options = { baseUrl: `http://${host}`, allowInsecure: true, tls: undefined, token: emulator.token }
    expect(await ship({ ...options, proxyEnv })).toEqual({ delivered: 7, warnings: '' })
    expect(proxy.asked[0]).toMatch(`POST http://${host}/`)
  })

  it.each([
    ['its natural end', ''],
    ['process.exit()', 'process.exit()'],
    ['SIGTERM', `process.kill(process.pid, 'SIGTERM'); setInterval(() => {}, 1000)`],
  ])('of the environment is used if Node uses it, also at the end of the process: %s', async (_, end) => {
    await using emulator = await startService()
    await using proxy = await startProxy(emulator.url)
    const { stderr } = await runScript(
      `${core('exitTimeoutMs: 20_000')} log(0, 7); ${end}`,
      environment(emulator, proxy),
    )
    expect(numbersIn(emulator)).toEqual(upTo(7))
    expect(stderr).not.toContain('logferry:') // Node 22 warns of its own proxies
    expect(proxy.asked).toEqual([`CONNECT ${host}:443`])
  })

  it('serves the client of the organization', async () => {
    await using emulator = await startService()
    await using proxy = await startProxy(emulator.url)
    const client = createOrgClient({
      baseUrl: `https://${host}`,
      accessToken: emulator.accessToken,
      tls: { ca: ours.cert },
      proxyEnv: { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` },
    })
    expect(await client.get(emulator.orgId)).toMatchObject({ id: emulator.orgId })
    expect(proxy.asked).toEqual([`CONNECT ${host}:443`])
    await client.close()
  })

  it('is not used for hosts in NO_PROXY or for this machine', async () => {
    await using emulator = await startEmulator()
    await using proxy = await startProxy(emulator.url)
    const proxies = `http://127.0.0.1:${proxy.port}`
    const proxyEnv = { HTTPS_PROXY: proxies, HTTP_PROXY: proxies, NO_PROXY: `other, .${host}` }
    expect((await ship({ proxyEnv })).warnings).toMatch(/ENOTFOUND|EAI_AGAIN/)
    const { url: baseUrl, token } = emulator
    expect(await ship({ baseUrl, token, tls: undefined, proxyEnv })).toEqual({ delivered: 7, warnings: '' })
    expect(proxy.asked).toEqual([])
  })

  it('is named, without its credentials, if it gives no connection', async () => {
    const proxyEnv = { HTTPS_PROXY: `http://user:${password}@127.0.0.1:9` }
    const { warnings } = await ship({ proxyEnv })
    expect(warnings).toContain('(connect ECONNREFUSED 127.0.0.1:9; requests go through the proxy 127.0.0.1:9)')
    expect(warnings).not.toContain(password)
    const error = await createOrgClient({ baseUrl: `https://${host}`, token, proxyEnv, timeoutMs: 3000 })
      .get('o')
      .catch(String)
    expect(error).toContain('requests go through the proxy 127.0.0.1:9')
  })

  it('leading to a server with the certificate of another host does not pass the token on', async () => {
    let heard = ''
    const impostor = createTlsServer(others, socket => socket.on('error', () => {}).on('data', data => (heard += data)))
    impostor.on('tlsClientError', () => {}).listen(0, '127.0.0.1')
    await once(impostor, 'listening')
    await using proxy = await startProxy(`https://127.0.0.1:${(impostor.address() as AddressInfo).port}`)
    const proxyEnv = { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` }
    expect((await ship({ proxyEnv })).warnings).toMatch(/certificate/)
    const { stderr } = await runScript(`${core()} log(0, 7); process.exit()`, environment({ token }, proxy))
    expect(stderr).toMatch(/7 events could not be delivered/)
    expect([proxy.asked.length >= 2, heard]).toEqual([true, ''])
    impostor.close()
  })

  it('with the certificate of another host gets neither token nor credentials', async () => {
    let heard = ''
    const impostor = createTlsServer(ours, socket => socket.on('error', () => {}).on('data', data => (heard += data)))
    impostor.on('tlsClientError', () => {}).listen(0, '127.0.0.1')
    await once(impostor, 'listening')
    const url = `https://user:${password}@localhost:${(impostor.address() as AddressInfo).port}`
    expect((await ship({ proxyEnv: { HTTPS_PROXY: url } })).warnings).toMatch(/certificate/)
    const plain = { baseUrl: `http://${host}`, allowInsecure: true, tls: undefined }
    expect((await ship({ ...plain, proxyEnv: { HTTP_PROXY: url } })).warnings).toMatch(/certificate/)
    expect(heard).toBe('')
    impostor.close()
  })

  it('with a certificate of a private authority is named, with the remedy, and without its credentials', async () => {
    const proxy = createTlsServer(ours, socket => socket.on('error', () => {}))
    proxy.on('tlsClientError', () => {}).listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const { port } = proxy.address() as AddressInfo
    const proxyEnv = { HTTPS_PROXY: `https://user:${password}@localhost:${port}` }
    const remedy =
      `; requests go through the proxy localhost:${port}, whose certificate must be of an authority that Node trusts ` +
      '(NODE_EXTRA_CA_CERTS); tls.ca holds for the service)'
    const { warnings } = await ship({ proxyEnv }) // with the certificate of the proxy as `tls.ca`
    const client = createOrgClient({ baseUrl: `https://${host}`, token, proxyEnv, timeoutMs: 3000 })
    const error = await client.get('o').catch(String)
    const source = `${core('exitTimeoutMs: 3000')} log(0); process.exit()`
    const { stderr } = await runScript(source, {
      ...environment({ token }, { port } as ForwardProxy),
      NODE_EXTRA_CA_CERTS: '',
      https_proxy: proxyEnv.HTTPS_PROXY,
    })
    for (const text of [warnings, error, stderr]) {
      expect(text).toContain(remedy)
      expect(text).not.toContain(password)
    }
    proxy.close()
  })

  it('with a certificate that the application has made Node trust is used at process.exit(), too', async () => {
    let heard = ''
    const onData = (data: Buffer) => (heard += data)
    const proxy = createTlsServer(others, socket => socket.on('error', () => {}).on('data', onData))
    proxy.on('tlsClientError', () => {}).listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const certificate = JSON.stringify(others.cert)
    const trust = `import tls from 'node:tls'; tls.setDefaultCACertificates([${certificate}]);`
    const source = `${trust} ${core(`exitTimeoutMs: 3000, tls: { ca: ${certificate} }`)} log(0); process.exit()`
    const https_proxy = `https://localhost:${(proxy.address() as AddressInfo).port}`
    await runScript(source, { ...environment({ token }, {} as ForwardProxy), NODE_EXTRA_CA_CERTS: '', https_proxy })
    expect(heard).toMatch(`CONNECT ${host}:443`)
    proxy.close()
  })

  it.each([
    ['ERR_TLS_CERT_ALTNAME_INVALID', '; requests go through the proxy p.example:8443'],
    ['CERT_HAS_EXPIRED', '; requests go through the proxy p.example:8443'],
    ['ECONNRESET', ''],
  ])('with TLS is named if there is no connection because of a certificate: %s', (code, hint) => {
    const hintFor = (https_proxy: string) =>
      proxyHint({ env: { https_proxy }, credentials: undefined, unused: undefined, ofOtherScheme: undefined }, code)
    expect(hintFor(`https://user:${password}@p.example:8443`)).toBe(hint)
    expect(hintFor('http://p.example:8080')).toBe('')
  })

  it.each([
    ['does not answer', () => {}],
    ['opens a tunnel to nowhere', (socket: { write(text: string): void }) => socket.write('HTTP/1.1 200 OK\r\n\r\n')],
  ])('that %s does not hold up the end of the process for longer than exitTimeoutMs', async (_, onConnect) => {
    await using proxy = await startProxy('http://127.0.0.1:9', { onConnect })
    const source = `${core('exitTimeoutMs: 300')} log(0, 7)`
    const { stderr, ms } = await runScript(source, environment({ token }, proxy))
    expect(stderr).toMatch(/7 events could not be delivered within 300 ms/)
    expect(ms).toBeLessThan(5000)
  })

  it('that answers without end is given up', async () => {
    const onConnect = (socket: { write(text: string): void }) => {
      const timer = setInterval(() => socket.write(`x-header: ${'x'.repeat(50_000)}\r\n`), 10).unref()
      setTimeout(clearInterval, 2000, timer)
    }
    await using proxy = await startProxy('http://127.0.0.1:9', { onConnect })
    const proxyEnv = { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` }
    expect((await ship({ proxyEnv })).warnings).toMatch(
      /the answer of the proxy is too long|Proxy response headers exceeded/,
    )
  })

  it('that refuses is named, without its password', async () => {
    const onConnect = (socket: { end(text: string): void }) => {
      socket.end(`HTTP/1.1 407 not user:${password} ${basic(`user:${password}`)}\r\n\r\n`)
    }
    const answer = { status: 407, body: () => `not ${password}` }
    await using proxy = await startProxy('http://127.0.0.1:9', { onConnect, answer })
    const url = `http://user:${password}@127.0.0.1:${proxy.port}`
    const tunnel = await ship({ proxyEnv: { HTTPS_PROXY: url } })
    expect(tunnel.warnings).toMatch(/Failed to establish tunnel .*127.0.0.1:\d+\/?: HTTP\/1.1 407 not user:\[token\]/)
    expect(tunnel.warnings).toContain('; the proxy wants other credentials: correct its address')
    expect(tunnel.warnings).not.toContain('@')
    const plain = { baseUrl: `http://${host}`, allowInsecure: true, tls: undefined }
    const refused = await ship({ ...plain, proxyEnv: { HTTP_PROXY: url } })
    expect(refused.warnings).toMatch(/407 .*not \[token\].* Check the credentials of the proxy/)
    for (const { warnings } of [tunnel, refused]) {
      expect(warnings).not.toContain(password)
      expect(warnings).not.toContain(basic(`user:${password}`))
    }
  })
})

it.each(['', 'process.exit()'])(
  'https to a port without TLS is reported by the reason of OpenSSL alone: %s',
  async end => {
    await using emulator = await startEmulator()
    const LOGFERRY_URL = emulator.url.replace('http:', 'https:')
    const { stderr } = await runScript(`${core()} log(0); ${end}`, {
      LOGFERRY_URL,
      LOGFERRY_TOKEN: token,
      LOGFERRY_DATASET: 'd',
    })
    expect(stderr).toContain('(no TLS connection: wrong version number)')
  },
)

describe.concurrent('a proxy that refuses the credentials is reported with the remedy', () => {
  const onConnect = (socket: { end(text: string): void }) => socket.end('HTTP/1.1 407 Who\r\n\r\n')

  it.each([
    ['process.exit()', `${core()} log(0); process.exit()`],
    [
      'a call of the client of the organization',
      `import { createOrgClient } from 'logferry/org'; await createOrgClient().get('o')`,
    ],
  ])('%s', async (_, source) => {
    await using proxy = await startProxy('http://127.0.0.1:9', { onConnect })
    const { stderr } = await runScript(source, environment({ token }, proxy))
    expect(stderr).toContain('; the proxy wants other credentials: correct its address')
  })

  it('and one that refuses the host, without it', async () => {
    const onHost = (socket: { end(text: string): void }) => socket.end('HTTP/1.1 403 Not 407\r\n\r\n')
    await using proxy = await startProxy('http://127.0.0.1:9', { onConnect: onHost })
    const { warnings } = await ship({ proxyEnv: { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` } })
    expect(warnings).toContain('403 Not 407')
    expect(warnings).not.toContain('credentials')
  })
})

describe.concurrent('a proxy of the environment that is not used', () => {
  const hint = 'HTTPS_PROXY is set, but not used: a proxy needs NODE_USE_ENV_PROXY=1 or the option proxyEnv'
  const service = { LOGFERRY_URL: `https://${host}`, LOGFERRY_TOKEN: token, LOGFERRY_DATASET: 'd' }
  const proxies = { HTTPS_PROXY: `http://user:${password}@127.0.0.1:9` }

  it.each([
    ['its natural end', `${core('exitTimeoutMs: 4000')} log(0)`],
    ['process.exit()', `${core('exitTimeoutMs: 4000')} log(0); process.exit()`],
    [
      'a call of the client of the organization',
      `import { createOrgClient } from 'logferry/org'; await createOrgClient().get('o')`,
    ],
  ])('is named if the service is not found: %s', async (_, source) => {
    const { stderr } = await runScript(source, { ...service, ...proxies })
    expect(stderr).toContain(hint)
    expect(stderr).not.toContain(password)
  })

  it.each<[string, options: string, Record<string, string>]>([
    ['in the environment', '', { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:9' }],
    ['in the option proxyEnv', `{ proxyEnv: { HTTP_PROXY: 'http://127.0.0.1:9' } }`, {}],
  ])('is named, with the variable that is missing, if it is for the other scheme: %s', async (_, options, proxies) => {
    const source = `import { createOrgClient } from 'logferry/org'; await createOrgClient(${options}).get('o')`
    const { stderr } = await runScript(source, { ...service, ...proxies })
    expect(stderr).toContain(
      'HTTP_PROXY is set, but holds for http:// addresses only: a proxy for this service needs HTTPS_PROXY',
    )
  })

  it('is not named if none is set', async () => {
    const source = `import { createOrgClient } from 'logferry/org'; await createOrgClient().get('o')`
    const { stderr } = await runScript(source, { ...service, NO_PROXY: '*' })
    expect(stderr).toMatch(/ENOTFOUND|EAI_AGAIN/)
    expect(stderr).not.toMatch(/not used|PROXY/)
  })
})
