import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createShipper, type ShipperOptions } from '../../src/index.ts'
import { startFaultServer } from '../support/fault-server.ts'
import { watched } from '../support/laws.ts'

const secret = 'xaat-do-not-show'
const poisons = ['\r\nx-injected: 1', '\n', '\r', '\u0000', ' ', 'é', '☃', '\u007f', '\t']

const withPoison: readonly (readonly [option: string, (value: string) => ShipperOptions])[] = [
  ['token', value => ({ token: value })],
  ['personalAccessToken', value => ({ personalAccessToken: value, orgId: 'o' })],
  ['orgId', value => ({ personalAccessToken: secret, orgId: value })],
  ['orgIdHeader', value => ({ personalAccessToken: secret, orgId: 'o', orgIdHeader: value })],
]

describe('scenario 28: options that would break out of a header or a path', () => {
  it.each(withPoison)(
    '%s with CR, LF, NUL, spaces or non-ASCII: refused at construction, and not shown',
    (option, optionsOf) => {
      for (const poison of poisons) {
        const create = () =>
          createShipper({ baseUrl: 'http://127.0.0.1:9', dataset: 'd', ...optionsOf(secret + poison) })
        let thrown: unknown
        try {
          create()
        } catch (error) {
          thrown = error
        }
        expect(thrown, inspect(poison)).toMatchObject({ code: 'LOGFERRY_INVALID_OPTION', option })
        if (option !== 'orgIdHeader') expect(inspect(thrown, { depth: 9, showHidden: true })).not.toContain(secret)
      }
    },
  )

  it.each(['\r\nx: 1', '\u0000', '\u007f', '', '.', '..'])('a dataset named %j is refused at construction', dataset => {
    expect(() => createShipper({ baseUrl: 'http://127.0.0.1:9', token: secret, dataset })).toThrow(/`dataset`/)
  })

  it.each([
    ['a/b', 'a%2Fb'],
    ['../../v2/orgs/o', '..%2F..%2Fv2%2Forgs%2Fo'],
    ['a?b=c', 'a%3Fb%3Dc'],
    ['a#b', 'a%23b'],
    ['%2e%2e', '%252e%252e'],
    ['a\\b', 'a%5Cb'],
    ['sp ace', 'sp%20ace'],
    ['snow☃', 'snow%E2%98%83'],
    ['...', '...'],
    ['a;b:c@d', 'a%3Bb%3Ac%40d'],
  ])('a dataset named %j is one segment of the path on the wire', async (dataset, segment) => {
    await using server = await startFaultServer(request => {
      if (request.isWhole) request.take()
    })
    await using logs = watched({ baseUrl: `${server.url}/edge`, dataset })
    logs.log(0)
    await logs.flush()
    expect(server.requests[0]?.head.split('\r\n')[0]).toBe(`POST /edge/v1/datasets/${segment}/ingest HTTP/1.1`)
  })
})
