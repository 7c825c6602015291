/** The service behind a real proxy, which answers some requests itself, with its own pages. Skipped without nginx. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Emulator, startEmulator } from '../../src/emulator.ts'
import type { ShipperOptions } from '../../src/index.ts'
import { numbersIn } from '../support/emulated.ts'
import { allOnce, tally, type Watched, watched } from '../support/laws.ts'
import { isNginxInstalled, type Nginx, type NginxOptions, startNginx } from '../support/nginx.ts'
import { mustRunSync } from '../support/run-sync.ts'

interface Scene {
  readonly emulator: Emulator
  readonly nginx: Nginx
  ship(options?: ShipperOptions): Watched
}

/** Runs a test with the emulator behind nginx, and ends both. */
async function behindNginx(
  options: Omit<NginxOptions, 'upstream'>,
  test: (scene: Scene) => Promise<void>,
): Promise<void> {
  await using emulator = await startEmulator()
  await using nginx = await startNginx({ upstream: emulator.url, ...options })
  const ship = (given: ShipperOptions = {}) =>
    watched({ baseUrl: nginx.url, token: emulator.token, maxRetryDelayMs: 100, ...given })
  await test({ emulator, nginx, ship })
}

describe.skipIf(!isNginxInstalled).concurrent('behind nginx', () => {
  it('scenario 6: client_max_body_size (413, HTML): split, each event arrives once', () =>
    behindNginx({ location: 'client_max_body_size 20k;' }, async ({ emulator, ship }) => {
      await using logs = ship({ compression: 'none' })
      logs.log(0, 5000, { text: 'x'.repeat(100) })
      expect(await logs.close()).toEqual({ complete: true, pending: 0 })
      expect(tally(numbersIn(emulator), 5000)).toEqual(allOnce)
      expect(logs.stats()).toMatchObject({ delivered: 5000, dropped: 0 })
      expect(logs.warnings[0]?.message).toContain('answers 413')
    }))

  it('scenario 9: limit_req (429): slows down, each event arrives once', () =>
    behindNginx(
      {
        http: 'limit_req_zone $binary_remote_addr zone=z:1m rate=10r/s; limit_req_status 429;',
        location: 'limit_req zone=z burst=2 nodelay;',
      },
      async ({ emulator, ship }) => {
        await using logs = ship({ maxBatchEvents: 100 })
        logs.log(0, 1000)
        expect(await logs.close(15_000)).toEqual({ complete: true, pending: 0 })
        expect(tally(numbersIn(emulator), 1000)).toEqual(allOnce)
        expect(logs.stats().requests).toBeLessThan(25)
        expect(logs.stats().requests).toBeGreaterThan(10)
      },
    ))

  it('scenario 25: the service dies (502) and comes back: each event arrives once', async () => {
    const emulator = await startEmulator()
    await using nginx = await startNginx({ upstream: emulator.url })
    await using logs = watched({ baseUrl: nginx.url, token: emulator.token, maxRetryDelayMs: 100, maxBatchAgeMs: 10 })
    logs.log(0, 100)
    await logs.flush()
    expect(tally(numbersIn(emulator), 100)).toEqual(allOnce)
    await emulator.close()
    logs.log(100, 200)
    expect((await logs.whenWarned()).message).toMatch(/events \(502 Bad Gateway nginx/)
    const tokens = [{ kind: 'api', token: emulator.token, actions: ['ingest'] }] as const
    await using revived = await startEmulator({ port: emulator.port, tokens })
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(numbersIn(revived)).toHaveLength(100)
    expect(logs.stats()).toMatchObject({ delivered: 200, dropped: 0 })
  })

  it('scenario 4: the service hangs (504): sent again, only events in flight may arrive twice', () =>
    behindNginx({ location: 'proxy_read_timeout 1500ms; proxy_next_upstream off;' }, async ({ emulator, ship }) => {
      let requests = 0
      emulator.faults.latencyMs = () => (requests++ === 0 ? 4000 : 0)
      await using logs = ship({ maxBatchEvents: 100, maxConcurrentRequests: 1 })
      logs.log(0, 1000)
      expect(await logs.close()).toEqual({ complete: true, pending: 0 })
      expect(tally(numbersIn(emulator), 1000)).toEqual({ lost: 0, twice: 100 })
      expect(emulator.stats().requests).toBe(11)
    }))

  it('scenario 1: the proxy is killed repeatedly under load: no event is lost', () =>
    behindNginx({}, async ({ emulator, nginx, ship }) => {
      await using logs = ship({ maxBatchAgeMs: 5, maxBatchEvents: 20 })
      let logged = 0
      for (let round = 0; round < 4; round++) {
        for (const untilMs = performance.now() + 100; performance.now() < untilMs; await sleep(1)) {
          logs.log(logged, logged + 10)
          logged += 10
        }
        await nginx.kill()
        logs.log(logged, logged + 10)
        logged += 10
        await nginx.restart()
      }
      expect(await logs.close()).toEqual({ complete: true, pending: 0 })
      const { lost, twice } = tally(numbersIn(emulator), logged)
      expect(lost).toBe(0)
      expect(twice).toBeLessThanOrEqual(4 * 4 * 20) // the requests in flight at each kill
    }))

  it.each([
    ['keepalive_requests 1;', {}],
    ['keepalive_requests 3;', {}],
    ['keepalive_timeout 0;', {}],
    ['keepalive_time 1ms;', {}],
    ['proxy_request_buffering off; proxy_http_version 1.1;', {}],
    ['proxy_buffering off; chunked_transfer_encoding on; client_body_buffer_size 1k;', {}],
    ['limit_rate 5000; gzip on; gzip_min_length 1; gzip_types *;', {}],
    ['lingering_close off; tcp_nodelay off;', {}],
  ])('scenario 21: %s is invisible to the application', async location => {
    await behindNginx({ location }, async ({ emulator, ship }) => {
      await using logs = ship({ maxBatchEvents: 100 })
      logs.log(0, 2000, { text: 'x'.repeat(50) })
      expect(await logs.close()).toEqual({ complete: true, pending: 0 })
      expect(tally(numbersIn(emulator), 2000)).toEqual(allOnce)
      expect(logs.warnings).toEqual([])
    })
  })

  it('scenario 21: connections closed while idle are invisible to the application', () =>
    behindNginx({ location: 'keepalive_timeout 100ms;' }, async ({ emulator, ship }) => {
      await using logs = ship()
      for (let n = 0; n < 6; n++) {
        logs.log(n)
        await logs.flush()
        await sleep(80 + 8 * n)
      }
      expect(tally(numbersIn(emulator), 6)).toEqual(allOnce)
      expect(logs.warnings).toEqual([])
    }))

  it.each([
    [444, 'it closes without a word'],
    [500, 'it answers, and closes'],
    [408, 'it answers, and closes'],
  ])('each connection with a %i, which %s: no event gets through, and every loss is counted', async status => {
    await behindNginx({ location: `return ${status};` }, async ({ ship }) => {
      await using logs = ship()
      logs.log(0, 10)
      expect(await logs.flush(300)).toEqual({ complete: false, pending: 10 })
      expect(await logs.close(0)).toMatchObject({ complete: false })
      expect(logs.stats()).toMatchObject({ delivered: 0, dropped: 10 })
    })
  })

  it.each([429, 503])(
    'the first request of each connection with a %i: sent again on the same connection',
    async status => {
      const location = `if ($connection_requests = 1) { return ${status}; }`
      await behindNginx({ location }, async ({ emulator, ship }) => {
        await using logs = ship({ maxConcurrentRequests: 1 })
        logs.log(0, 10)
        expect(await logs.close()).toEqual({ complete: true, pending: 0 })
        expect(tally(numbersIn(emulator), 10)).toEqual(allOnce)
      })
    },
  )

  it.each([301, 302, 307, 308])(
    'scenario 29: its redirect to https (%i) is reported, and not followed',
    async status => {
      await behindNginx(
        { location: `return ${status} https://elsewhere.example$request_uri;` },
        async ({ emulator, ship }) => {
          await using logs = ship()
          logs.log(0, 3)
          expect(await logs.flush(300)).toEqual({ complete: false, pending: 3 })
          expect((await logs.whenWarned()).message).toContain('redirects to https://elsewhere.example)')
          expect(emulator.requests()).toEqual([])
        },
      )
    },
  )

  describe('scenario 30: TLS with a private CA, through an intermediate one', () => {
    let made: ReturnType<typeof certificates>
    beforeAll(() => {
      made = certificates()
    })

    it('trusted by the option tls: delivered, also after a restart of nginx', () =>
      behindNginx({ tls: made.leaf }, async ({ emulator, nginx, ship }) => {
        await using logs = ship({ tls: { ca: made.ca } })
        logs.log(0, 100)
        expect(await logs.flush()).toEqual({ complete: true, pending: 0 })
        await nginx.kill()
        logs.log(100, 200)
        await nginx.restart()
        expect(await logs.close()).toEqual({ complete: true, pending: 0 })
        expect(tally(numbersIn(emulator), 200)).toEqual(allOnce)
      }))

    it.each([
      ['without that option', () => ({})],
      ['with another CA', () => ({ tls: { ca: made.stranger } })],
    ])('refused %s: the server gets no token and no event', async (_, options) => {
      await behindNginx({ tls: made.leaf }, async ({ emulator, ship }) => {
        await using logs = ship(options())
        logs.log(0)
        expect(await logs.flush(300)).toEqual({ complete: false, pending: 1 })
        expect((await logs.whenWarned()).message).toMatch(/certificate/)
        expect(emulator.requests()).toEqual([])
      })
    })
  })
})

/** Makes a CA, an intermediate CA, a certificate for 127.0.0.1 with its chain, and an unrelated CA. */
function certificates() {
  const directory = mkdtempSync(join(tmpdir(), 'logferry-ca-'))
  const at = (name: string) => join(directory, name)
  const read = (name: string) => readFileSync(at(name), 'utf8')
  const openssl = (...args: string[]) => mustRunSync('openssl', args)
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  for (const name of ['root', 'stranger']) {
    openssl('req', '-x509', ...key, '-keyout', at(`${name}.key`), '-out', at(`${name}.pem`), '-subj', `/CN=${name}`)
  }
  const sign = (name: string, issuer: string, extensions: string) => {
    writeFileSync(at('extensions'), extensions)
    openssl('req', ...key, '-keyout', at(`${name}.key`), '-out', at(`${name}.csr`), '-subj', `/CN=${name}`)
    const by = [
      '-CA',
      at(`${issuer}.pem`),
      '-CAkey',
      at(`${issuer}.key`),
      '-CAcreateserial',
      '-extfile',
      at('extensions'),
    ]
    openssl('x509', '-req', '-in', at(`${name}.csr`), ...by, '-out', at(`${name}.pem`), '-days', '2')
  }
  sign('middle', 'root', 'basicConstraints=critical,CA:TRUE')
  sign('leaf', 'middle', 'subjectAltName=IP:127.0.0.1')
  const made = {
    ca: read('root.pem'),
    leaf: { key: read('leaf.key'), cert: read('leaf.pem') + read('middle.pem') },
    stranger: read('stranger.pem'),
  }
  rmSync(directory, { recursive: true })
  return made
}
