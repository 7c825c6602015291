import { afterAll, describe, expect, it } from 'vitest'
import { type Emulator, type Org, startEmulator } from '../../src/emulator.ts'

const emulator = await startEmulator({ orgs: [{ id: 'second/org', name: 'Second', license: { maxFields: 256 } }] })
afterAll(() => emulator.close())

function org(from: Emulator, id: string, init: RequestInit = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${from.accessToken}`, 'content-type': 'application/json', ...init.headers }
  return fetch(`${from.url}/v2/orgs/${encodeURIComponent(id)}`, { ...init, headers })
}

const put = (body: string | Uint8Array<ArrayBuffer>) => org(emulator, emulator.orgId, { method: 'PUT', body })

const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

describe('the answer has every field of the specification', () => {
  it('of an organization and its license', async () => {
    const response = await org(emulator, emulator.orgId)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.json()).toStrictEqual({
      id: emulator.orgId,
      name: 'Emulated Organization',
      lastUsageSync: time,
      license: {
        id: 'license-emulated-org',
        issuer: 'logferry emulator',
        issuedTo: 'emulated-org',
        issuedAt: time,
        validFrom: time,
        expiresAt: time,
        billingPeriodStart: time,
        billingPeriodEnd: time,
        defaultRegion: 'us-east-1',
        regions: ['us-east-1', 'eu-central-1'],
        tier: 'team',
        features: { alerting: true },
        withAuths: ['email', 'github'],
        apiRateLimitPerSecond: 1000,
        maxAuditWindowSeconds: 2_592_000,
        maxQueryWindowSeconds: 8_208_000,
        maxDatasets: 100,
        maxEndpoints: 50,
        maxFields: 1024,
        maxMonitors: 100,
        maxUsers: 50,
        monthlyIngestGb: 1000,
        monthlyQueryGbHours: 100,
        storageAllowanceGB: 10_000,
      },
      paymentStatus: 'success',
      plan: 'teamMonthlyDirect',
      planCreated: time,
      primaryEmail: 'owner@example.com',
      defaultRegion: 'us-east-1',
      firstFailedPayment: time,
      metaCreated: time,
      metaModified: time,
      metaVersion: '1',
      role: 'owner',
    })
  })

  it('and the license is valid, in a billing period that contains today', () => {
    const { license } = emulator.org()
    const now = new Date().toISOString()
    expect(license.validFrom < now && now < license.expiresAt).toBe(true)
    expect(license.billingPeriodStart <= now && now < license.billingPeriodEnd).toBe(true)
  })
})

describe('organizations have the fields of the options', () => {
  it('override fields of the default organization, and of its license field by field', async () => {
    await using own = await startEmulator({
      org: { id: 'own', plan: 'acmeCloud', role: undefined, license: { apiRateLimitPerSecond: 5, features: {} } },
    })
    expect(own.orgId).toBe('own')
    expect(await (await org(own, 'own')).json()).toMatchObject({
      id: 'own',
      plan: 'acmeCloud',
      role: 'owner',
      license: { issuedTo: 'own', apiRateLimitPerSecond: 5, features: {}, maxFields: 1024 },
    })
  })

  it('may be several, with ids that need encoding', async () => {
    expect(await (await org(emulator, 'second/org')).json()).toMatchObject({
      name: 'Second',
      license: { maxFields: 256 },
    })
  })

  it('can be changed while the emulator runs', async () => {
    await using own = await startEmulator()
    own.changeOrg({ license: { monthlyIngestGb: 1 } })
    expect(await (await org(own, own.orgId)).json()).toMatchObject({
      metaVersion: '2',
      license: { monthlyIngestGb: 1, maxFields: 1024 },
    })
    expect(() => own.changeOrg({}, 'nobody')).toThrow("changeOrg: there is no organization 'nobody'")
  })

  it('are handed out as copies', () => {
    emulator.org('second/org').license.maxFields = 0
    expect(emulator.org('second/org').license.maxFields).toBe(256)
  })
})

describe('an update', () => {
  it('changes only the name, the default region and the metadata of the change', async () => {
    const { metaModified: modifiedBefore, metaVersion, ...before } = emulator.org()
    const response = await put('{"name":"Renamed","region":"eu-central-1"}')
    expect(response.status).toBe(200)
    const answer = (await response.json()) as Org
    expect(answer).toEqual({
      ...before,
      name: 'Renamed',
      defaultRegion: 'eu-central-1',
      metaModified: expect.any(String),
      metaVersion: `${Number(metaVersion) + 1}`,
    })
    expect(String(answer.metaModified) > String(modifiedBefore)).toBe(true)
    expect(await (await org(emulator, emulator.orgId)).json()).toEqual(answer)
  })

  it('keeps the region if it names none', async () => {
    const { defaultRegion } = emulator.org()
    expect(await (await put('{"name":"Again"}')).json()).toMatchObject({ name: 'Again', defaultRegion })
  })

  it.each([
    ['{"name":', 'malformed JSON at line 1, column 9 of the body'],
    ['', 'malformed JSON at line 1, column 1 of the body'],
    [Buffer.from('{"name":"caf\xe9"}', 'latin1'), 'the body is not valid UTF-8'],
    ['[]', 'the body must be a JSON object'],
    ['{}', '"name" must be a non-empty string'],
    ['{"name":""}', '"name" must be a non-empty string'],
    ['{"name":7}', '"name" must be a non-empty string'],
    ['{"name":"x","region":7}', '"region" must be a non-empty string or absent'],
  ])('%s is a 400', async (body, message) => {
    const before = emulator.org()
    const response = await put(body)
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ code: expect.any(String), message })
    expect(emulator.org()).toEqual(before)
  })

  it('needs its media type', async () => {
    const headers = { 'content-type': 'text/plain' }
    const response = await org(emulator, emulator.orgId, { method: 'PUT', body: '{"name":"x"}', headers })
    expect(response.status).toBe(415)
    expect(await response.json()).toMatchObject({ message: 'the Content-Type must be application/json' })
  })
})

it.each(['GET', 'PUT'])('%s of an unknown organization is a 404', async method => {
  const response = await org(emulator, 'nobody', { method, ...(method === 'PUT' && { body: '{"name":"x"}' }) })
  expect(response.status).toBe(404)
  expect(await response.json()).toEqual({
    code: 'unknown-organization',
    message: 'there is no organization with this id',
  })
})
