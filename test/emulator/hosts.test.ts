import { hostname } from 'node:os'
import { afterAll, describe, expect, it } from 'vitest'
import { type Emulator, startEmulator } from '../../src/emulator.ts'
import { exchangeRaw, jsonOf } from './wire.ts'

const emulator = await startEmulator()
afterAll(() => emulator.close())

/** Requests the page of received events with these headers, and returns the answer. */
function get(from: Emulator, ...headers: string[]): Promise<string> {
  const head = ['GET / HTTP/1.1', ...headers, 'Connection: close', '', ''].join('\r\n')
  return exchangeRaw(from, socket => socket.write(head))
}

function statusOf(answer: string): number {
  return Number(answer.slice('HTTP/1.1 '.length).split(' ', 1)[0])
}

async function statusFor(from: Emulator, host: string): Promise<number> {
  return statusOf(await get(from, `Host: ${host}`))
}

describe('a request is answered if its Host is', () => {
  const loopback = [
    'localhost',
    'LOCALHOST',
    'localhost.',
    'api.localhost:1',
    '127.0.0.1',
    '127.8.9.9:80',
    '[::1]:4800',
  ]
  it.each([...loopback, '[::ffff:127.0.0.1]', '127.1'])('the loopback name %s', async host => {
    expect(await statusFor(emulator, host)).toBe(200)
  })

  it('the host that it listens on', async () => {
    await using own = await startEmulator({ host: '::ffff:127.0.0.1' })
    expect(await statusFor(own, `127.0.0.1:${own.port}`)).toBe(200)
  })

  it('an address of the machine, or its name, if it listens on all of them', async () => {
    await using everywhere = await startEmulator({ host: '0.0.0.0' })
    expect(await statusFor(everywhere, '192.0.2.7:4800')).toBe(200)
    expect(await statusFor(everywhere, '[2001:db8::7]')).toBe(200)
    expect(await statusFor(everywhere, hostname())).toBe(200)
    expect(await statusFor(everywhere, 'attacker.example')).toBe(403)
  })

  it('an allowed host, whatever the port', async () => {
    await using own = await startEmulator({ allowedHosts: ['Emulator', 'log_sink:4800', '192.0.2.7', '2001:db8::7'] })
    for (const host of ['emulator:4800', 'log_sink', '192.0.2.7', '[2001:DB8::7]']) {
      expect(await statusFor(own, host)).toBe(200)
    }
    expect(await statusFor(own, 'emulator.example')).toBe(403)
  })
})

describe('a web page cannot read events', () => {
  it.each([
    'attacker.example',
    '127.0.0.1.attacker.example:4800',
    'localhost.attacker.example',
    'notlocalhost',
    '192.0.2.7',
    '[2001:db8::7]',
    'user@localhost',
    'localhost/a',
    'localhost:port',
    '[::1',
    'a b',
  ])('through a host name that points to the emulator: %s', async host => {
    const answer = await get(emulator, `Host: ${host}`)
    expect(statusOf(answer)).toBe(403)
    expect(jsonOf(answer)).toEqual({
      code: 'host-not-allowed',
      message: expect.stringMatching(/allowedHosts of startEmulator, or with `logferry emulator --allow-host <name>`$/),
    })
    expect(answer).not.toContain('attacker')
  })

  it.each(['https://attacker.example', 'null', 'http://localhost:1', 'https://localhost', 'localhost'])(
    'from the origin %s',
    async origin => {
      const answer = await get(emulator, 'Host: localhost', `Origin: ${origin}`)
      expect(statusOf(answer)).toBe(403)
      expect(jsonOf(answer)).toEqual({ code: 'origin-not-allowed', message: expect.stringContaining('Origin') })
    },
  )

  it("the emulator's own page may send requests", async () => {
    const answer = await get(emulator, `Host: localhost:${emulator.port}`, `Origin: http://localhost:${emulator.port}`)
    expect(statusOf(answer)).toBe(200)
  })

  it('a web page cannot send events', async () => {
    const path = `${emulator.url}/v1/datasets/d/ingest`
    const headers = { authorization: `Bearer ${emulator.token}`, 'content-type': 'application/json', origin: 'null' }
    expect((await fetch(path, { method: 'POST', headers, body: '{}' })).status).toBe(403)
    expect(emulator.datasets()).toEqual([])
  })
})

describe('an ambiguous request is a 400', () => {
  it.each([
    ['host', 'Host: localhost', 'Host: attacker.example'],
    ['host', 'Host: localhost', 'HOST: localhost'],
    ['authorization', 'Host: localhost', `Authorization: Bearer ${emulator.token}`, 'authorization: Bearer other'],
  ])('two %s headers', async (name, ...headers) => {
    const answer = await get(emulator, ...headers)
    expect(statusOf(answer)).toBe(400)
    expect(jsonOf(answer)).toEqual({
      code: 'ambiguous-header',
      message: `a request may have one ${name} header, not several`,
    })
  })
})

it.each([['emulator'], [['']], [['a b']], [['http://emulator']], [[7]]])(
  '%j is refused as a list of hosts',
  async allowedHosts => {
    await expect(startEmulator({ allowedHosts: allowedHosts as never })).rejects.toThrow(/^startEmulator: allowedHosts/)
  },
)
