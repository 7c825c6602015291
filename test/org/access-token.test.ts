import assert from 'node:assert/strict'
import { once } from 'node:events'
import { setImmediate as macrotask } from 'node:timers/promises'
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'
import { createOrgClient, type ObtainAccessToken, OrgError } from '../../src/org.ts'
import { specifiedOrg, startService } from './service.ts'

/** An emulator, a client, and a function that returns a token which is valid until `end()`. */
async function startTokens() {
  const emulator = await startEmulator()
  const asked: boolean[] = []
  let valid: string | undefined
  const accessToken: ObtainAccessToken = async ({ renew }) => {
    asked.push(renew)
    valid = emulator.addToken({ kind: 'access' })
    return valid
  }
  const client = createOrgClient({ baseUrl: emulator.url, accessToken })
  return {
    emulator,
    client,
    /** The value of `renew` at each call of the function. */
    asked,
    end: () => emulator.revokeToken(valid ?? ''),
    get: () => client.get(emulator.orgId),
    async [Symbol.asyncDispose]() {
      await client.close()
      await emulator.close()
    },
  }
}

async function failure(call: Promise<unknown>): Promise<OrgError> {
  const error: unknown = await call.catch(error => error)
  expect(error).toBeInstanceOf(OrgError)
  return error as OrgError
}

describe('an access token from a function', () => {
  it('is obtained when first needed, and kept', async () => {
    await using tokens = await startTokens()
    expect(tokens.asked).toEqual([])
    await tokens.get()
    await tokens.client.update(tokens.emulator.orgId, { name: 'x' })
    await tokens.get()
    expect(tokens.asked).toEqual([false])
  })

  it('is obtained once for parallel calls', async () => {
    await using tokens = await startTokens()
    await Promise.all([tokens.get(), tokens.get(), tokens.get()])
    expect(tokens.asked).toEqual([false])
  })

  it('is renewed once for parallel calls after it was refused', async () => {
    await using tokens = await startTokens()
    await tokens.get()
    tokens.end()
    const orgs = await Promise.all(Array.from({ length: 20 }, () => tokens.get()))
    expect(orgs).toHaveLength(20)
    expect(tokens.asked).toEqual([false, true])
    tokens.end()
    await tokens.get()
    expect(tokens.asked).toEqual([false, true, true])
  })

  it('may be returned without a promise', async () => {
    await using emulator = await startEmulator()
    await using client = createOrgClient({ baseUrl: emulator.url, accessToken: () => emulator.accessToken })
    expect((await client.get(emulator.orgId)).id).toBe(emulator.orgId)
  })

  it('is renewed once per call if the service refuses the new token, too', async () => {
    await using emulator = await startEmulator()
    const asked: boolean[] = []
    await using client = createOrgClient({
      baseUrl: emulator.url,
      accessToken: ({ renew }) => `refused-${asked.push(renew)}`,
    })
    const error = await failure(client.get(emulator.orgId))
    expect(error).toMatchObject({ code: 'UNAUTHORIZED', status: 403 })
    expect(asked).toEqual([false, true])
    expect(emulator.requests()).toHaveLength(2)
  })

  it('is not renewed again by a call that was refused before others renewed it', async () => {
    const renewed = Promise.withResolvers<void>()
    const slowAsked = Promise.withResolvers<void>()
    await using service = await startService(async (response, { line, headers }) => {
      const isOld = headers.authorization === 'Bearer token-1'
      if (isOld && line.endsWith('slow')) {
        slowAsked.resolve()
        await renewed.promise
      }
      response.writeHead(isOld ? 403 : 200).end(JSON.stringify(specifiedOrg))
    })
    let given = 0
    await using client = createOrgClient({ baseUrl: service.url, accessToken: () => `token-${++given}` })
    const slow = client.get('slow')
    await slowAsked.promise
    await client.get('quick')
    renewed.resolve()
    await slow
    const bearers = service.requests.map(({ headers }) => headers.authorization)
    expect(bearers).toEqual(['Bearer token-1', 'Bearer token-1', 'Bearer token-2', 'Bearer token-2'])
  })

  it('is not sent again if the function returns the refused token', async () => {
    await using emulator = await startEmulator()
    await using client = createOrgClient({ baseUrl: emulator.url, accessToken: 'unknown' })
    expect(await failure(client.get(emulator.orgId))).toMatchObject({ code: 'UNAUTHORIZED' })
    expect(emulator.requests()).toHaveLength(1)
  })
})

describe('a function without a valid token is TOKEN_UNAVAILABLE', () => {
  const noService = 'http://127.0.0.1:1'

  it.each<[string, () => unknown]>([
    ['rejects', () => Promise.reject(new Error('no such client', { cause: new Error('connect ECONNREFUSED') }))],
    [
      'throws',
      () => {
        throw new Error('no such client', { cause: new Error('connect ECONNREFUSED') })
      },
    ],
  ])('if it %s, with the cause', async (_, accessToken) => {
    await using client = createOrgClient({ baseUrl: noService, accessToken: accessToken as ObtainAccessToken })
    const error = await failure(client.get('acme'))
    expect(error).toMatchObject({ code: 'TOKEN_UNAVAILABLE', cause: { message: 'no such client' } })
    expect((error.cause as Error).cause).toMatchObject({ message: 'connect ECONNREFUSED' })
  })

  it('if it throws a value that is not an Error', async () => {
    const accessToken = () => Promise.reject('secret-1')
    await using client = createOrgClient({ baseUrl: noService, accessToken })
    const error = await failure(client.get('acme'))
    expect(error).toMatchObject({
      code: 'TOKEN_UNAVAILABLE',
      cause: { message: 'a value that is not an Error was thrown: string' },
    })
    expect(inspect(error)).not.toContain('secret-1')
  })

  it.each<[string, () => object]>([
    ['whose name is a symbol', () => Object.assign(new Error('no such client'), { name: Symbol('NoClient') })],
    [
      'whose properties throw when they are read',
      () => {
        const thrower = { get: () => assert.fail('not for you') }
        const names = ['name', 'message', 'stack', 'cause', 'code']
        return Object.defineProperties(new Error(), Object.fromEntries(names.map(name => [name, thrower])))
      },
    ],
    ['whose message is no text', () => Object.assign(new Error(), { message: { toString: () => assert.fail() } })],
    [
      'behind a proxy that was revoked',
      () => {
        const { proxy, revoke } = Proxy.revocable(new Error(), {})
        revoke()
        return proxy
      },
    ],
  ])('if it throws an Error %s', async (_, thrown) => {
    await using client = createOrgClient({ baseUrl: noService, accessToken: () => Promise.reject(thrown()) })
    const error = await failure(client.get('acme'))
    expect(error).toMatchObject({ code: 'TOKEN_UNAVAILABLE', cause: expect.any(Error) })
    expect(inspect(error)).not.toContain('not for you')
  })

  it.each([
    undefined,
    null,
    7,
    '',
    'secret 1',
    'secret-1\r\nx-evil: 1',
    'sécret-1',
    { access_token: 'secret-1' },
    ['secret-1'],
  ])('if it returns %j, which is not shown', async given => {
    await using client = createOrgClient({ baseUrl: noService, accessToken: (() => given) as never })
    const error = await failure(client.get('acme'))
    expect(error.code).toBe('TOKEN_UNAVAILABLE')
    expect(error.message).toContain(
      'must return a token of visible ASCII characters, without spaces, line breaks, quotes around it or "Bearer"; it returned ',
    )
    expect(inspect(error, { depth: 10, showHidden: true })).not.toMatch(/s[eé]cret.1|evil/)
  })

  it('and is called again by the next call', async () => {
    await using emulator = await startEmulator()
    let calls = 0
    const accessToken = async () => {
      calls += 1
      if (calls === 1) throw new Error('not yet')
      return emulator.accessToken
    }
    await using client = createOrgClient({ baseUrl: emulator.url, accessToken })
    const results = await Promise.allSettled([client.get(emulator.orgId), client.get(emulator.orgId)])
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect((await client.get(emulator.orgId)).id).toBe(emulator.orgId)
    expect(calls).toBe(2)
  })

  it('and the refused token is neither in the error nor in its causes', async () => {
    await using emulator = await startEmulator()
    const secret = 'secret-token-1'
    const accessToken: ObtainAccessToken = ({ renew }) => {
      if (!renew) return secret
      const cause = Object.assign(new Error(`revoked: ${secret}`), { body: { access_token: secret } })
      throw Object.assign(new Error(`cannot refresh ${secret}`, { cause }), { cause, response: secret })
    }
    await using client = createOrgClient({ baseUrl: emulator.url, accessToken })
    const error = await failure(client.get(emulator.orgId))
    expect(error).toMatchObject({ code: 'TOKEN_UNAVAILABLE', cause: { message: 'cannot refresh [token]' } })
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(secret)
  })

  it('a function that takes too long is a TIMEOUT: its signal is aborted, and the next call calls it again', async () => {
    const signals: AbortSignal[] = []
    const accessToken: ObtainAccessToken = ({ signal }) => {
      signals.push(signal)
      return new Promise(() => {})
    }
    await using client = createOrgClient({ baseUrl: noService, accessToken, timeoutMs: 100 })
    const error = await failure(client.get('acme'))
    expect(error).toMatchObject({ code: 'TIMEOUT' })
    expect(error.message).toContain('timeoutMs (100) ran out while waiting for the accessToken function')
    const [signal] = signals
    if (signal?.aborted === false) await once(signal, 'abort')
    await macrotask()
    expect(await failure(client.get('acme'))).toMatchObject({ code: 'TIMEOUT' })
    expect(signals).toHaveLength(2)
  })
})
