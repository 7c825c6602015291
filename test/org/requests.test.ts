import { Agent } from 'undici'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'
import { createOrgClient, type OrgClientOptions } from '../../src/org.ts'
import { until } from '../support/until.ts'
import { type Service, specifiedOrg, startAnswering, startService } from './service.ts'

afterEach(() => vi.unstubAllEnvs())

/** Returns the requests that one `get` with these options made. */
async function asked(options: (service: Service) => OrgClientOptions, id = 'acme') {
  await using service = await startAnswering(200, specifiedOrg)
  await using client = createOrgClient(options(service))
  await client.get(id)
  expect(service.requests).toHaveLength(1)
  // biome-ignore lint/style/noNonNullAssertion: just counted
  return service.requests[0]!
}

describe('a request', () => {
  it('to read an organization has no body', async () => {
    const { line, headers, body } = await asked(({ url }) => ({ baseUrl: url, token: 'secret-1' }))
    expect([line, body]).toEqual(['GET /v2/orgs/acme', ''])
    expect(headers).toMatchObject({ authorization: 'Bearer secret-1', accept: 'application/json' })
    expect(headers).not.toHaveProperty('content-type')
    expect(headers).not.toHaveProperty('x-service-org-id')
  })

  it.each([
    [{ name: 'New' }, '{"name":"New"}'],
    [{ name: 'New', region: undefined }, '{"name":"New"}'],
    [{ name: '\r\n"✓', region: 'eu' }, '{"name":"\\r\\n\\"✓","region":"eu"}'],
  ])('to update an organization has %j as JSON', async (update, body) => {
    await using service = await startAnswering(200, specifiedOrg)
    await using client = createOrgClient({ baseUrl: service.url, token: 't' })
    expect(await client.update('acme', update)).toStrictEqual(specifiedOrg)
    expect(service.requests).toMatchObject([
      { line: 'PUT /v2/orgs/acme', headers: { 'content-type': 'application/json' }, body },
    ])
  })

  it.each([
    ['a/b', '/v2/orgs/a%2Fb'],
    ['a?b#c', '/v2/orgs/a%3Fb%23c'],
    ['../admin', '/v2/orgs/..%2Fadmin'],
    ['%2e%2e', '/v2/orgs/%252e%252e'],
    ['a\\b;c', '/v2/orgs/a%5Cb%3Bc'],
    [' é😀', '/v2/orgs/%20%C3%A9%F0%9F%98%80'],
    ['...', '/v2/orgs/...'],
  ])('has the id %j as one segment of its path', async (id, path) => {
    expect(await asked(({ url }) => ({ baseUrl: url, token: 't' }), id)).toMatchObject({ line: `GET ${path}` })
  })

  it.each(['/edge', '/edge/'])('begins with the path of the base address %s', async path => {
    const { line } = await asked(({ url }) => ({ baseUrl: url + path, token: 't' }))
    expect(line).toBe('GET /edge/v2/orgs/acme')
  })

  it('goes to the configured region', async () => {
    const { line } = await asked(({ url }) => ({
      baseUrl: { us: 'http://127.0.0.1:1', eu: `${url}/eu` },
      region: 'eu',
      token: 't',
    }))
    expect(line).toBe('GET /eu/v2/orgs/acme')
  })

  it('with an access token sends it as the bearer', async () => {
    const { headers } = await asked(({ url }) => ({ baseUrl: url, accessToken: 'oauth' }))
    expect(headers.authorization).toBe('Bearer oauth')
  })

  it.each([undefined, 'X-Org'])('with a personal access token names its organization in the header %s', async name => {
    const { headers } = await asked(({ url }) => ({
      baseUrl: url,
      personalAccessToken: 'pat',
      orgId: 'mine',
      orgIdHeader: name,
    }))
    expect(headers).toMatchObject({ authorization: 'Bearer pat', [name?.toLowerCase() ?? 'x-service-org-id']: 'mine' })
  })

  it('takes unset options from the environment', async () => {
    const { line, headers } = await asked(({ url }) => {
      vi.stubEnv('LOGFERRY_URL', `${url}/env`)
      vi.stubEnv('LOGFERRY_TOKEN', 'env-token')
      return {}
    })
    expect([line, headers.authorization]).toEqual(['GET /env/v2/orgs/acme', 'Bearer env-token'])
  })

  it('takes region and organization from the environment, and ignores its token if another is set', async () => {
    const { headers } = await asked(({ url }) => {
      vi.stubEnv('LOGFERRY_REGION', 'us')
      vi.stubEnv('LOGFERRY_ORG_ID', 'env-org')
      vi.stubEnv('LOGFERRY_TOKEN', 'env-token')
      return { baseUrl: { us: url, eu: 'http://127.0.0.1:1' }, personalAccessToken: 'pat' }
    })
    expect(headers).toMatchObject({ authorization: 'Bearer pat', 'x-service-org-id': 'env-org' })
    vi.stubEnv('LOGFERRY_REGION', undefined)
    const { headers: others } = await asked(({ url }) => ({ baseUrl: url, accessToken: () => 'obtained' }))
    expect(others.authorization).toBe('Bearer obtained')
  })

  it('goes through the given dispatcher, and leaves it open', async () => {
    const dispatcher = new Agent()
    const dispatch = vi.spyOn(dispatcher, 'dispatch')
    await asked(({ url }) => ({ baseUrl: url, token: 't', dispatcher }))
    expect(dispatch).toHaveBeenCalledOnce()
    expect(dispatcher.closed).toBe(false)
    await dispatcher.close()
  })
})

describe('with the emulator', () => {
  it('an update changes the organization that is read', async () => {
    await using emulator = await startEmulator()
    await using client = createOrgClient({ baseUrl: emulator.url, accessToken: emulator.accessToken })
    const updated = await client.update(emulator.orgId, { name: 'Renamed', region: 'eu-central-1' })
    expect(updated).toMatchObject({ name: 'Renamed', defaultRegion: 'eu-central-1' })
    expect(await client.get(emulator.orgId)).toStrictEqual(updated)
    expect((await client.update(emulator.orgId, { name: 'Again' })).defaultRegion).toBe('eu-central-1')
  })

  it('each kind of token reads the organization', async () => {
    await using emulator = await startEmulator()
    const { url: baseUrl, orgId } = emulator
    const token = emulator.addToken({ kind: 'api', actions: ['org:read'] })
    const given = [
      { token },
      { accessToken: emulator.accessToken },
      { personalAccessToken: emulator.personalAccessToken, orgId },
    ]
    for (const options of given) {
      await using client = createOrgClient({ baseUrl, ...options })
      expect(await client.get(orgId)).toStrictEqual(emulator.org())
    }
  })
})

describe('close', () => {
  // An idle connection ends after 4 s by itself.
  it('waits for calls in progress, and then closes their connections', { timeout: 2000 }, async () => {
    const closed = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<() => void>()
    await using service = await startService(response => {
      response.socket?.once('close', closed.resolve)
      asked.resolve(() => response.end(JSON.stringify(specifiedOrg)))
    })
    const client = createOrgClient({ baseUrl: service.url, token: 't' })
    const steps: string[] = []
    const reading = client.get('acme').then(() => steps.push('read'))
    const answer = await asked.promise
    const closing = client.close().then(() => steps.push('closed'))
    answer()
    await Promise.all([reading, closing, closed.promise])
    expect(steps).toEqual(['read', 'closed'])
  })

  it('leaves alone a call that begins while it waits for others', async () => {
    const answers: (() => void)[] = []
    await using service = await startService(response => {
      answers.push(() => response.end(JSON.stringify(specifiedOrg)))
    })
    const client = createOrgClient({ baseUrl: service.url, token: 't' })
    const before = client.get('acme')
    await until(() => answers.length === 1, 'the first request')
    const closing = client.close()
    const later = client.get('acme')
    await until(() => answers.length === 2, 'the second request')
    answers[0]?.()
    await Promise.all([before, closing])
    answers[1]?.()
    expect(await later).toStrictEqual(specifiedOrg)
    expect(answers).toHaveLength(2)
    await client.close()
  })

  it('can be called at any time, again, and does not end the client', async () => {
    await using service = await startAnswering(200, specifiedOrg)
    const client = createOrgClient({ baseUrl: service.url, token: 't' })
    await client.close()
    const reading = client.get('acme')
    await Promise.all([client.close(), client.close()])
    expect(await reading).toStrictEqual(specifiedOrg)
    expect(await client.get('acme')).toStrictEqual(specifiedOrg)
    await client.close()
  })
})
