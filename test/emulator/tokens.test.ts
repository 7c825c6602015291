import { inspect } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'
import { post } from './wire.ts'

const emulator = await startEmulator({
  orgs: [{ id: 'other' }],
  tokens: [
    { kind: 'api', token: 'only-checkout', actions: ['ingest'], datasets: ['checkout'] },
    { kind: 'api', token: 'only-reads', actions: ['org:read'] },
    { kind: 'api', token: 'reads-other', actions: ['org:read'], orgs: ['other'] },
    { kind: 'personal', token: 'mine', orgs: ['emulated-org'] },
    { kind: 'access', token: 'access-other', orgs: ['other'] },
  ],
})
afterAll(() => emulator.close())

const { orgId } = emulator
const org = { 'x-service-org-id': orgId }
const other = { 'x-service-org-id': 'other' }

function send(operation: string, token: string, headers: Record<string, string>): Promise<Response> {
  const [verb, name = ''] = operation.split(' ')
  if (verb === 'ingest') return post(emulator, { dataset: name, token, headers })
  return fetch(`${emulator.url}/v2/orgs/${name}`, {
    method: verb === 'read' ? 'GET' : 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    ...(verb === 'update' && { body: '{"name":"x"}' }),
  })
}

describe('the rights of tokens', () => {
  it.each([
    ['the default API token', emulator.token, {}, 'ingest anything', 200],
    ['the default API token', emulator.token, {}, `read ${orgId}`, 403],
    ['an API token for one dataset', 'only-checkout', {}, 'ingest checkout', 200],
    ['an API token for one dataset', 'only-checkout', {}, 'ingest payment', 403],
    ['an API token for reading', 'only-reads', {}, `read ${orgId}`, 200],
    ['an API token for reading', 'only-reads', {}, `update ${orgId}`, 403],
    ['an API token for reading', 'only-reads', {}, 'ingest checkout', 403],
    ['an API token of another organization', 'reads-other', {}, 'read other', 200],
    ['an API token of another organization', 'reads-other', {}, `read ${orgId}`, 403],
    ['a personal access token', emulator.personalAccessToken, org, 'ingest checkout', 200],
    ['a personal access token', emulator.personalAccessToken, org, `read ${orgId}`, 200],
    ['a personal access token', emulator.personalAccessToken, org, `update ${orgId}`, 200],
    ['a personal access token', emulator.personalAccessToken, other, 'read other', 200],
    [
      'a personal access token with the header of another organization',
      emulator.personalAccessToken,
      org,
      'read other',
      403,
    ],
    [
      'a personal access token with an unknown organization',
      'mine',
      { 'x-service-org-id': 'nobody' },
      'ingest checkout',
      403,
    ],
    ['a personal access token without the header', emulator.personalAccessToken, {}, 'ingest checkout', 403],
    ['a personal access token without the header', emulator.personalAccessToken, {}, `read ${orgId}`, 403],
    ['a personal access token limited to one organization', 'mine', org, 'ingest checkout', 200],
    ['a personal access token limited to one organization', 'mine', other, 'ingest checkout', 403],
    ['the default access token', emulator.accessToken, {}, `read ${orgId}`, 200],
    ['the default access token', emulator.accessToken, {}, `update ${orgId}`, 200],
    ['the default access token', emulator.accessToken, {}, 'ingest checkout', 403],
    ['an access token of another organization', 'access-other', {}, `read ${orgId}`, 403],
  ])('%s (%s, %j): %s → %i', async (_, token, headers, operation, status) => {
    expect((await send(operation, token, headers)).status).toBe(status)
  })
})

describe('unsuccessful authentication is a 403 that does not repeat the token', () => {
  it.each([
    ['no header', undefined],
    ['an empty header', ''],
    ['another scheme', `Basic ${emulator.token}`],
    ['no scheme', emulator.token],
    ['no token', 'Bearer '],
    ['two tokens', `Bearer ${emulator.token} ${emulator.token}`],
    ['an unknown token', 'Bearer secret-nobody-knows'],
    ['a token that may not', 'Bearer only-reads'],
  ])('%s', async (_, authorization) => {
    const response = await fetch(`${emulator.url}/v1/datasets/checkout/ingest`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(authorization !== undefined && { authorization }) },
      body: '[]',
    })
    const text = await response.text()
    expect(response.status).toBe(403)
    expect(JSON.parse(text)).toEqual({ code: 'forbidden', message: expect.any(String) })
    for (const secret of [emulator.token, 'secret-nobody-knows', 'only-reads']) expect(text).not.toContain(secret)
  })

  it('accepts the scheme in upper and lower case', async () => {
    const response = await post(emulator, { headers: { authorization: `bearer ${emulator.token}` } })
    expect(response.status).toBe(200)
  })
})

it('accepts a token until it is revoked', async () => {
  const token = emulator.addToken({ kind: 'api', actions: ['ingest'] })
  expect((await post(emulator, { token })).status).toBe(200)
  expect(() => emulator.addToken({ kind: 'access', token })).toThrow('addToken: grant.token must be in no other grant')
  expect(emulator.revokeToken(token)).toBe(true)
  expect((await post(emulator, { token })).status).toBe(403)
  expect(emulator.revokeToken(token)).toBe(false)
})

it('reads the organization from the header that the option names', async () => {
  await using own = await startEmulator({ orgIdHeader: 'X-Acme-Org-Id' })
  const token = own.personalAccessToken
  expect((await post(own, { token, headers: { 'x-acme-org-id': own.orgId } })).status).toBe(200)
  const refused = await post(own, { token, headers: org })
  expect(await refused.json()).toMatchObject({ message: expect.stringContaining('x-acme-org-id') })
})

it('shows no token when it is inspected, and none in the requests it lists', async () => {
  await post(emulator, { headers: { cookie: 'session=secret-cookie' } })
  const shown = [emulator, emulator.faults, emulator.requests(), emulator.stats()].map(each =>
    inspect(each, { depth: 10, showHidden: true, getters: false }),
  )
  for (const secret of [emulator.token, emulator.personalAccessToken, emulator.accessToken, 'secret-cookie', 'mine']) {
    expect(shown.join('\n')).not.toContain(secret)
  }
  expect(JSON.stringify(emulator)).not.toContain(emulator.token)
})
