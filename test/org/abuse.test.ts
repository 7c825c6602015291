import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createOrgClient, type OrgClientOptions } from '../../src/org.ts'

const good = { baseUrl: 'http://127.0.0.1:1', token: 'xaat-secret-0001' }

beforeAll(() => {
  for (const name of ['URL', 'TOKEN', 'ORG_ID', 'REGION']) vi.stubEnv(`LOGFERRY_${name}`, undefined)
})
afterAll(() => vi.unstubAllEnvs())

function refusal(options: unknown): Error {
  try {
    createOrgClient(options as OrgClientOptions)
  } catch (error) {
    return error as Error
  }
  throw new Error('accepted')
}

describe('invalid options throw when the client is made', () => {
  it.each<[string, unknown, string, RegExp, 'TypeError' | 'RangeError']>([
    ['no options', null, 'options', /an object; got null$/, 'TypeError'],
    ['no base address', { token: 't' }, 'baseUrl', /LOGFERRY_URL must be set; got nothing/, 'TypeError'],
    [
      'no token',
      { ...good, token: undefined },
      'accessToken',
      /set, unless token, personalAccessToken or LOGFERRY_TOKEN is; got nothing/,
      'TypeError',
    ],
    ['two tokens', { ...good, accessToken: 'a' }, 'token', /the only one of .*; got accessToken too/, 'TypeError'],
    ['two others', { ...good, personalAccessToken: 'a' }, 'personalAccessToken', /got token too/, 'TypeError'],
    [
      'a personal token alone',
      { ...good, token: undefined, personalAccessToken: 'a' },
      'orgId',
      /nothing/,
      'TypeError',
    ],
    [
      'an unknown option',
      { ...good, retries: 1 },
      'retries',
      /there is no option `retries`\. Known options: baseUrl, /,
      'TypeError',
    ],
    ['an option of the shipper', { ...good, dataset: 'd' }, 'dataset', /there is no option `dataset`/, 'TypeError'],
    [
      'plain http',
      { ...good, baseUrl: 'http://a.example' },
      'baseUrl',
      /an https: address unless the host is/,
      'RangeError',
    ],
    ['no region', { ...good, baseUrl: { us: 'x', eu: 'y' } }, 'region', /'us' or 'eu'/, 'TypeError'],
    ['an unknown region', { ...good, region: 'mars' }, 'region', /got "mars"/, 'RangeError'],
    [
      'no time',
      { ...good, timeoutMs: 99 },
      'timeoutMs',
      /an integer from 100 to 600000 \(milliseconds\)/,
      'RangeError',
    ],
    ['an endless time', { ...good, timeoutMs: Number.POSITIVE_INFINITY }, 'timeoutMs', /got Infinity/, 'RangeError'],
    ['a text for a time', { ...good, timeoutMs: '1000' }, 'timeoutMs', /got "1000"/, 'TypeError'],
    [
      'a number for a token',
      { ...good, token: undefined, accessToken: 7 },
      'accessToken',
      /a function that returns one/,
      'TypeError',
    ],
    ['an object that is not a dispatcher', { ...good, dispatcher: {} }, 'dispatcher', /undici Dispatcher/, 'TypeError'],
    ['a header name with a space', { ...good, orgIdHeader: 'x y' }, 'orgIdHeader', /HTTP header/, 'RangeError'],
  ])('%s', (_, options, option, message, type) => {
    const error = refusal(options)
    expect(error.message).toMatch(message)
    expect(error).toMatchObject({ name: type, code: 'LOGFERRY_INVALID_OPTION', option })
  })

  const hostile = ['', 'secret\r\nX-Evil: 1', 'secret\0', 'sec ret', 'secrét', ' secret']
  const secretOptions = ['token', 'accessToken', 'personalAccessToken', 'orgId'] as const
  it.each(secretOptions.flatMap(option => hostile.map(value => [option, value] as const)))(
    '%s %j is refused, and not shown',
    (option, value) => {
      const error = refusal({ baseUrl: good.baseUrl, [option]: value })
      expect(error).toMatchObject({ code: 'LOGFERRY_INVALID_OPTION', option })
      expect(inspect(error)).not.toMatch(/secr|sec ret|Evil/)
    },
  )

  it('allowInsecure allows plain http to any host', () => {
    expect(() => createOrgClient({ ...good, baseUrl: 'http://a.example', allowInsecure: true })).not.toThrow()
  })
})

describe('invalid arguments reject, and no request is made', () => {
  const dispatch = vi.fn()
  const client = createOrgClient({ ...good, dispatcher: { dispatch } as never })

  it.each(['', '.', '..', 'a\r\nb', 'a\n', 'a\0', '\u007f', '\ud800', 'x'.repeat(2000), undefined, null, 7, {}, ['a']])(
    'id %j',
    async id => {
      const name = typeof id === 'string' ? 'RangeError' : 'TypeError'
      const refused = { name, code: 'LOGFERRY_INVALID_OPTION', option: 'id' }
      await expect(client.get(id as string)).rejects.toMatchObject(refused)
      await expect(client.update(id as string, { name: 'x' })).rejects.toMatchObject(refused)
    },
  )

  it('an id is not shown, because it may be a misplaced token', async () => {
    await expect(client.get('xaat-secret\n')).rejects.toThrow(/got a string of 12 characters \(not shown\)$/)
  })

  it.each([
    [undefined, 'update', 'an object with a name; got undefined'],
    ['name', 'update', 'an object with a name; got a string of 4 characters (not shown)'],
    [{}, 'update', 'an object with a name; got an object without one'],
    [[], 'update', 'an object with a name; got an array'],
    [{ name: 7 }, 'name', 'a string; got 7'],
    [{ name: null }, 'name', 'a string; got null'],
    [{ name: 'x', region: 7 }, 'region', 'a string; got 7'],
  ])('update %j', async (update, option, message) => {
    await expect(client.update('acme', update as never)).rejects.toMatchObject({
      code: 'LOGFERRY_INVALID_OPTION',
      option,
      message: `logferry: ${option === 'update' ? 'argument' : 'option'} \`${option}\` must be ${message}`,
    })
  })

  it('update with a field that an update does not have', async () => {
    const update = client.update('acme', { name: 'x', plan: 'free' } as never)
    const message = 'logferry: there is no option `plan`. Known options: name, region'
    await expect(update).rejects.toMatchObject({ code: 'LOGFERRY_INVALID_OPTION', option: 'plan', message })
  })

  it('no request was made', () => expect(dispatch).not.toHaveBeenCalled())
})

it('a client shows no token', async () => {
  const secret = 'xaat-secret-0001'
  const clients = [
    createOrgClient(good),
    createOrgClient({ baseUrl: good.baseUrl, accessToken: secret }),
    createOrgClient({ baseUrl: good.baseUrl, accessToken: () => secret, timeoutMs: 100 }),
    createOrgClient({ baseUrl: good.baseUrl, personalAccessToken: secret, orgId: 'o' }),
  ]
  vi.spyOn(Math, 'random').mockReturnValue(0)
  for (const client of clients) {
    await client.get('acme').catch(() => {})
    expect(inspect(client, { depth: 20, showHidden: true })).not.toContain(secret)
    expect(JSON.stringify(client)).toBe('{}')
    await client.close()
  }
})
