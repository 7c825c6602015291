/**
 * Surroundings that must not affect the last delivery of a process: certificates, preloads, module systems, bundlers,
 * permissions.
 */
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { afterAll, describe, expect, it } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'
import { createShipper } from '../../src/index.ts'
import { runNode, runScript } from '../support/run-script.ts'
import { startShipping } from '../support/shipping.ts'
import { core, environmentFor, run, upTo } from './running.ts'

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const textOf = (path: string) => readFileSync(pathOf(path), 'utf8')
const loopback = { key: textOf('../emulator/tls/key.pem'), cert: textOf('../emulator/tls/cert.pem') }
const wrongHost = {
  key: textOf('../support/tls/wrong-host.key.pem'),
  cert: textOf('../support/tls/wrong-host.cert.pem'),
}

const directory = mkdtempSync(join(tmpdir(), 'logferry-exit-'))
const newDirectory = () => mkdtempSync(join(directory, 'test-'))
afterAll(() => rmSync(directory, { recursive: true }))

describe.concurrent('TLS with a certificate of a private CA', () => {
  const emulatorOptions = { tls: loopback }

  it('is trusted by the option `tls`: at process.exit()', async () => {
    const source = `${core(`tls: { ca: ${JSON.stringify(loopback.cert)} }`)} log(0, 10); process.exit()`
    expect(await run(source, { emulatorOptions })).toMatchObject({ code: 0, stderr: '', numbers: upTo(10) })
  })

  it.each([
    ['a text', loopback.cert],
    ['a Buffer', Buffer.from(loopback.cert)],
    ['an array', [wrongHost.cert, Buffer.from(loopback.cert)]],
  ])('is trusted at any other time (ca is %s)', async (_, ca) => {
    await using shipping = await startShipping(emulatorOptions)
    const shipper = shipping.ship({ tls: { ca } })
    shipper.ship({ n: 0 })
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
  })

  it('is trusted by NODE_EXTRA_CA_CERTS', async () => {
    const environment = { NODE_EXTRA_CA_CERTS: pathOf('../emulator/tls/cert.pem') }
    const running = { emulatorOptions, environment }
    expect(await run(`${core()} log(0, 10); process.exit()`, running)).toMatchObject({ stderr: '', numbers: upTo(10) })
  })

  it('is trusted if the application has set it for its thread (tls.setDefaultCACertificates)', async () => {
    const source = `
      import tls from 'node:tls'
      tls.setDefaultCACertificates([...tls.getCACertificates('default'), ${JSON.stringify(loopback.cert)}])
      ${core()} log(0, 10); process.exit()`
    expect(await run(source, { emulatorOptions })).toMatchObject({ code: 0, stderr: '', numbers: upTo(10) })
  })

  it('is not trusted without the option, and the loss is reported', async () => {
    const { stderr, numbers } = await run(`${core('exitTimeoutMs: 300')} log(0, 10); process.exit()`, {
      emulatorOptions,
    })
    expect(numbers).toEqual([])
    expect(stderr).toContain('10 events could not be delivered')
  })

  it('sees the client certificate before and at process.exit()', async () => {
    const seen: string[] = []
    const server = createServer({ ...loopback, requestCert: true, rejectUnauthorized: false }, (request, response) => {
      seen.push((request.socket as TLSSocket).getPeerCertificate().raw?.toString('base64') ?? 'none')
      request.resume().on('end', () => response.end())
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const tls = { ca: loopback.cert, ...loopback }
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    const shipper = createShipper({ baseUrl: url, token: 'some-token', dataset: 'd', tls })
    shipper.ship({ n: 0 })
    await shipper.close()
    await runScript(`${core(`tls: ${JSON.stringify(tls)}`)} log(0); process.exit()`, environmentFor({ url }))
    server.close()
    const raw = loopback.cert.replaceAll(/-----.*-----|\n/g, '')
    expect(seen).toEqual([raw, raw])
  })

  it('is not trusted for another host', async () => {
    const source = `${core(`exitTimeoutMs: 300, tls: { ca: ${JSON.stringify(wrongHost.cert)} }`)} log(0); process.exit()`
    expect(await run(source, { emulatorOptions: { tls: wrongHost } })).toMatchObject({ numbers: [] })
  })
})

describe.concurrent('preloads', () => {
  it.each(['--require', '--import'])(
    '(%s in NODE_OPTIONS) run once, and not again for delivery at the end',
    async flag => {
      const own = newDirectory()
      const log = join(own, 'log')
      const preload = join(own, 'preload.cjs')
      writeFileSync(preload, `require('node:fs').appendFileSync(${JSON.stringify(log)}, 'loaded\\n')`)
      const environment = { NODE_OPTIONS: `${flag} ${preload}` }
      expect(await run(`${core()} log(0); process.exit()`, { environment })).toMatchObject({ stderr: '', numbers: [0] })
      expect(readFileSync(log, 'utf8')).toBe('loaded\n')
    },
  )

  it('as arguments run once, too', async () => {
    const own = newDirectory()
    const log = join(own, 'log')
    const preload = join(own, 'preload.cjs')
    writeFileSync(preload, `require('node:fs').appendFileSync(${JSON.stringify(log)}, 'loaded\\n')`)
    const args = ['--require', preload, '--input-type=module']
    expect(await run(`${core()} log(0); process.exit()`, { args })).toMatchObject({ stderr: '', numbers: [0] })
    expect(readFileSync(log, 'utf8')).toBe('loaded\n')
  })
})

describe.concurrent('applications', () => {
  it('in CommonJS deliver', async () => {
    const source = `
      const { createShipper } = require('logferry')
      const shipper = createShipper()
      for (let n = 0; n < 1000; n++) shipper.ship({ n })
      process.exit(3)
    `
    const ended = await run(source, { args: ['--input-type=commonjs'] })
    expect(ended).toMatchObject({ code: 3, stderr: '', numbers: upTo(1000) })
  })

  it('without the globals that the jsdom environment of Jest lacks deliver', async () => {
    const source = `
      for (const name of ['TextDecoder', 'TextEncoder', 'structuredClone', 'setImmediate', 'clearImmediate', 'fetch'])
        delete globalThis[name]
      const { createShipper } = require('logferry')
      const shipper = createShipper()
      shipper.ship({ n: 0 })
      shipper.flush().then(() => { shipper.ship({ n: 1 }); process.exit(3) })
    `
    const ended = await run(source, { args: ['--input-type=commonjs'] })
    expect(ended).toMatchObject({ code: 3, stderr: '', numbers: upTo(2) })
  })

  it('from TypeScript sources deliver', async () => {
    const source = `${core().replace("'logferry'", "'./src/index.ts'")} log(0, 10); process.exit()`
    expect(await run(source)).toMatchObject({ code: 0, stderr: '', numbers: upTo(10) })
  })

  it.each([
    ['es', false, false],
    ['es', true, false],
    ['cjs', true, true],
  ] as const)('in a single file deliver (%s, minified: %s, with names kept: %s)', async (format, minify, keepNames) => {
    const name = join(directory, `bundle-${minify}-${keepNames}`)
    writeFileSync(
      `${name}.ts`,
      `${core().replace("'logferry'", JSON.stringify(pathOf('../../dist/index.js')))} log(0, 10); process.exit(4)`,
    )
    const bundle = await rolldown({ input: `${name}.ts`, platform: 'node', logLevel: 'silent' })
    const file = `${name}.${format === 'es' ? 'mjs' : 'cjs'}`
    await bundle.write({ file, format, minify, keepNames, codeSplitting: false })
    await using emulator = await startEmulator()
    const ended = await runNode([file], environmentFor(emulator))
    expect([ended.code, ended.stderr, emulator.eventCount('d')]).toEqual([4, '', 10])
  })

  it('whose directory was removed, as of an old release, deliver', async () => {
    const folder = join(directory, 'release-1')
    const source = `${core()}
      const fs = process.getBuiltinModule('node:fs')
      fs.mkdirSync(${JSON.stringify(folder)})
      process.chdir(${JSON.stringify(folder)})
      process.cwd()
      fs.rmdirSync(${JSON.stringify(folder)})
      log(0, 7)
      process.exit(5)`
    expect(await run(source)).toMatchObject({ code: 5, stderr: '', numbers: upTo(7) })
  })

  it('that may not start workers lose pending events, with a warning', async () => {
    const args = ['--permission', '--allow-fs-read=*', '--input-type=module']
    const { code, stdout, stderr, numbers } = await run(`${core()} log(0, 7); process.exit(5)`, { args })
    expect([code, stdout, numbers]).toEqual([5, '', []])
    expect(stderr).toContain('7 events could not be delivered')
    expect(stderr).toContain('--allow-worker')
  })

  it('that have no shared memory for a worker lose pending events, and keep their exit code', async () => {
    const source = `${core()} delete globalThis.SharedArrayBuffer; log(0, 7); process.exit(5)`
    const { code, stderr, numbers } = await run(source)
    expect([code, numbers]).toEqual([5, []])
    expect(stderr).toContain('7 events could not be delivered')
    expect(stderr).not.toMatch(/ReferenceError|^ +at /m)
  })

  it('that may start workers deliver', async () => {
    const args = ['--permission', '--allow-fs-read=*', '--allow-worker', '--input-type=module']
    expect(await run(`${core()} log(0, 7); process.exit(5)`, { args })).toMatchObject({ code: 5, numbers: upTo(7) })
  })

  it('that may not use the spool say what Node must permit, and then use it', async () => {
    const spool = join(newDirectory(), 'permitted')
    const source = `${core(`spool: { directory: ${JSON.stringify(spool)} }`)} log(0, 7); process.exit(5)`
    const permitted = (...flags: readonly string[]) => ['--permission', ...flags, '--input-type=module']
    const forbidden = await run(source, { args: permitted('--allow-fs-read=*') })
    expect(forbidden.stderr).toMatch(/permitted cannot be used .* --allow-fs-read=\* and with --allow-fs-write/)
    mkdirSync(spool, { mode: 0o700 })
    const args = permitted('--allow-fs-read=*', `--allow-fs-write=${spool}`)
    expect((await run(source, { args })).stderr).toContain('Delivery continues from the spool')
  })
})
