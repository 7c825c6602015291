import { describe, expect, it } from 'vitest'
import { devOptions, InvalidOption } from '../../src/dev/dev-options.ts'

describe('the options of logferry dev', () => {
  it('have defaults', () => {
    expect(devOptions({})).toMatchObject({
      port: 4800,
      host: '127.0.0.1',
      token: undefined,
      maxEvents: 100_000,
      maxBytes: 134_217_728,
      isPrivate: false,
      program: undefined,
    })
  })

  it('are read as they are given', () => {
    const given = {
      port: '0',
      host: '::1',
      token: 'my-own-token',
      fault: ['status=503,for=1s', 'latency=1s'],
      'max-events': '5',
      'max-bytes': '256MiB',
      'allow-host': ['dev.test', '10.0.0.1'],
      'allow-origin': ['http://localhost:3000'],
      program: ['node', 'app.js', '--port', '1'],
      keep: true,
    }
    expect(devOptions(given)).toMatchObject({
      port: 0,
      host: '::1',
      faults: [{ kind: 'status' }, { kind: 'latency' }],
      maxEvents: 5,
      maxBytes: 268_435_456,
      allowedHosts: ['dev.test', '10.0.0.1'],
      allowedOrigins: ['http://localhost:3000'],
      program: ['node', 'app.js', '--port', '1'],
      keepsRunning: true,
    })
  })

  it.each([
    [{ port: '70000' }, '--port must be a number from 0 to 65535'],
    [{ port: '1e3' }, '--port must be a number from 0 to 65535'],
    [{ host: 'http://a' }, '--host must be a host name or an address'],
    [{ host: 'localhost:4800' }, '--host must be a host name or an address without a port'],
    [{ token: 'short' }, '--token must have at least 8 characters'],
    [{ token: '123456789' }, 'a letter among them'],
    [{ token: 'quote"quote' }, '--token must have at least 8 characters'],
    [{ 'max-events': '0' }, '--max-events must be a number from 1'],
    [{ 'max-bytes': '1kB' }, '--max-bytes must be a size from 1MiB'],
    [{ fault: ['status=200'] }, "--fault 'status=200': status must be from 300 to 599"],
    [{ 'allow-host': ['a b'] }, '--allow-host must be'],
    [{ 'allow-origin': ['localhost:3000'] }, '--allow-origin must be an origin such as http://localhost:3000'],
    [{ 'allow-origin': ['http://a/b'] }, '--allow-origin must be an origin'],
    [{ keep: true }, '--keep needs a program after --'],
    [{ program: [] }, 'give a program after --'],
    [{ program: [''] }, 'give a program after --'],
  ])('%j is refused with what is expected', (given, problem) => {
    expect(() => devOptions(given)).toThrow(InvalidOption)
    expect(() => devOptions(given)).toThrow(problem)
  })
})
