/** `logferry check` says if a proxy is used: by the same rules as Node, whose agents connect. */
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { proxyTo } from '../src/cli/checks/proxy-address.ts'

describe('NO_PROXY', () => {
  const proxy = createServer(socket =>
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nproxy'),
  )
  beforeAll(() => once(proxy.listen(0, '127.0.0.1'), 'listening'))
  afterAll(() => void proxy.close())

  /** True if Node makes a request to this host by the proxy. Without the proxy, no connection can be made. */
  async function usesProxy(host: string, port: number, noProxy: string): Promise<boolean> {
    const http_proxy = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    const agent = new Agent({ proxyEnv: { http_proxy, no_proxy: noProxy } })
    const lookup: never = ((_host: string, _options: object, callback: (error: Error) => void) =>
      callback(new Error('direct'))) as never
    const request = get({ host, port, agent, lookup, path: '/', timeout: 1000 })
    return new Promise(resolve => {
      request.on('response', response => resolve(response.resume().statusCode === 200))
      request.on('timeout', () => request.destroy(new Error('direct')))
      request.on('error', () => resolve(false))
    })
  }

  it.each([
    ['a.example', 8080, '', true],
    ['a.example', 8080, '*', false],
    ['a.example', 8080, 'a.example', false],
    ['a.example', 8080, 'A.EXAMPLE', false],
    ['a.example', 8080, 'b.example, a.example', false],
    ['b.a.example', 8080, 'a.example', true],
    ['b.a.example', 8080, '.a.example', false],
    ['b.a.example', 8080, '*.a.example', false],
    ['a.example', 8080, 'a.example:8080', false],
    ['a.example', 8080, 'a.example:9090', true],
    ['192.0.2.7', 8080, '192.0.2.7', false],
    ['192.0.2.7', 8080, '192.0.2.1-192.0.2.9', false],
    ['192.0.2.17', 8080, '192.0.2.1-192.0.2.9', true],
  ])('for %s on port %d, with %j: by the proxy is %s', async (host, port, noProxy, expected) => {
    const address = proxyTo({ host, port }, { env: { http_proxy: 'http://proxy.example', no_proxy: noProxy } })
    expect(address !== undefined).toBe(expected)
    expect(await usesProxy(host, port, noProxy)).toBe(expected)
  })
})
