import { describe, expect, expectTypeOf, it } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'
import { createOrgClient, type License, type Org, type PaymentStatus, type Plan } from '../../src/org.ts'
import { orgWith, specifiedOrg, startAnswering } from './service.ts'

async function read(body: unknown): Promise<Org> {
  await using service = await startAnswering(200, body)
  await using client = createOrgClient({ baseUrl: service.url, token: 'secret-token' })
  return await client.get('acme')
}

describe('every field of the specification', () => {
  const requiredOfOrg = [
    'id',
    'name',
    'lastUsageSync',
    'license',
    'paymentStatus',
    'plan',
    'planCreated',
    'primaryEmail',
  ] as const
  const optionalOfOrg = [
    'defaultRegion',
    'firstFailedPayment',
    'metaCreated',
    'metaModified',
    'metaVersion',
    'role',
  ] as const
  const strings = ['id', 'issuer', 'issuedTo', 'defaultRegion', 'tier'] as const
  const times = ['issuedAt', 'validFrom', 'expiresAt', 'billingPeriodStart', 'billingPeriodEnd'] as const
  const lists = ['regions', 'withAuths'] as const
  const integers = [
    'apiRateLimitPerSecond',
    'maxAuditWindowSeconds',
    'maxQueryWindowSeconds',
    'maxDatasets',
    'maxEndpoints',
    'maxFields',
    'maxMonitors',
    'maxUsers',
  ] as const
  const amounts = ['monthlyIngestGb', 'monthlyQueryGbHours', 'storageAllowanceGB'] as const
  const ofLicense = [...strings, ...times, ...lists, ...integers, ...amounts, 'features'] as const

  it('is in the types, and no other field is', () => {
    expectTypeOf<keyof Org>().toEqualTypeOf<(typeof requiredOfOrg)[number] | (typeof optionalOfOrg)[number]>()
    expectTypeOf<keyof License>().toEqualTypeOf<(typeof ofLicense)[number]>()
    expectTypeOf<Pick<Org, (typeof requiredOfOrg)[number]>>().toEqualTypeOf<{
      id: string
      name: string
      lastUsageSync: string
      license: License
      paymentStatus: PaymentStatus
      plan: Plan
      planCreated: string
      primaryEmail: string
    }>()
    expectTypeOf<Required<License>[(typeof integers)[number]]>().toEqualTypeOf<number>()
    expectTypeOf<Required<License>[(typeof times)[number]]>().toEqualTypeOf<string>()
    expectTypeOf<Required<License>[(typeof lists)[number]]>().toEqualTypeOf<string[]>()
    expectTypeOf<Required<License>['features']>().toEqualTypeOf<Record<string, unknown>>()
  })

  it('is read', async () => {
    expect(Object.keys(specifiedOrg).sort()).toEqual([...requiredOfOrg, ...optionalOfOrg].sort())
    expect(Object.keys(specifiedOrg.license).sort()).toEqual([...ofLicense].sort())
    expect(await read(specifiedOrg)).toStrictEqual(specifiedOrg)
  })

  it('is read from the emulator', async () => {
    await using emulator = await startEmulator()
    await using client = createOrgClient({ baseUrl: emulator.url, accessToken: emulator.accessToken })
    const org = await client.get(emulator.orgId)
    expect(org).toStrictEqual(emulator.org())
    expect(Object.keys(org).sort()).toEqual([...requiredOfOrg, ...optionalOfOrg].sort())
    expect(Object.keys(org.license).sort()).toEqual([...ofLicense].sort())
  })

  it.each(requiredOfOrg)('%s is required', async field => {
    const message = `the answer is not a valid organization: ${field} is missing`
    await expect(read(orgWith({ [field]: undefined }))).rejects.toThrow(message)
    await expect(read(orgWith({ [field]: null }))).rejects.toThrow(message)
  })

  it.each(optionalOfOrg)('%s is not required, and null counts as absent', async field => {
    const { [field]: _, ...rest } = specifiedOrg
    expect(await read(rest)).toStrictEqual(rest)
    expect(await read({ ...rest, [field]: null })).toStrictEqual(rest)
  })

  it('of the license may be absent', async () => {
    expect(await read(orgWith({ license: {} }))).toStrictEqual(orgWith({ license: {} }))
    const nulls = Object.fromEntries(ofLicense.map(field => [field, null]))
    expect(await read(orgWith({ license: nulls }))).toStrictEqual(orgWith({ license: {} }))
  })

  it.each<readonly [Record<string, unknown>, string]>([
    ...[...requiredOfOrg, ...optionalOfOrg]
      .filter(field => field !== 'license')
      .map(field => [{ [field]: 7 }, `${field}: expected a string, got 7`] as const),
    ...strings.map(
      field => [{ license: { [field]: false } }, `license.${field}: expected a string, got false`] as const,
    ),
    ...times.map(
      field =>
        [{ license: { [field]: 1_700_000_000 } }, `license.${field}: expected a string, got 1700000000`] as const,
    ),
    ...lists.flatMap(
      field =>
        [
          [{ license: { [field]: 'eu' } }, `license.${field}: expected a list of strings, got "eu"`],
          [{ license: { [field]: ['eu', {}] } }, `license.${field}.1: expected a string, got an object`],
        ] as const,
    ),
    ...integers.flatMap(
      field =>
        [
          [{ license: { [field]: 'many' } }, `license.${field}: expected an integer, got "many"`],
          [{ license: { [field]: 1.5 } }, `license.${field}: expected an integer, got 1.5`],
        ] as const,
    ),
    ...amounts.map(
      field => [{ license: { [field]: 'many' } }, `license.${field}: expected a number, got "many"`] as const,
    ),
    [{ license: { features: [] } }, 'license.features: expected an object, got an array'],
    [{ license: 'gold' }, 'license: expected an object, got "gold"'],
    [{ license: [] }, 'license: expected an object, got an array'],
    [
      { id: 7, license: { maxUsers: '5' } },
      'id: expected a string, got 7; license.maxUsers: expected an integer, got "5"',
    ],
    [{ name: 'x'.repeat(200), role: ['y'] }, 'role: expected a string, got an array'],
  ])('is checked: %j', async (fields, problem) => {
    const error = await read(orgWith(fields)).catch(error => error)
    expect(error).toMatchObject({ code: 'INVALID_RESPONSE', status: 200 })
    expect(error.message).toBe(`logferry: the answer is not a valid organization: ${problem}`)
  })

  it.each(amounts)('%s may have decimals, as in the emulator', async field => {
    const org = orgWith({ license: { [field]: 0.5 } })
    expect(await read(org)).toStrictEqual(org)
    await using emulator = await startEmulator({ org: { license: { [field]: 0.5 } } })
    const { url: baseUrl, accessToken, orgId } = emulator
    expect((await createOrgClient({ baseUrl, accessToken }).get(orgId)).license[field]).toBe(0.5)
  })

  it('is checked: of many mistakes, five are reported', async () => {
    await expect(read({})).rejects.toThrow(
      'id is missing; name is missing; lastUsageSync is missing; license is missing; paymentStatus is missing; 3 more',
    )
  })

  it.each(['2026-11-21T10:00:00Z', '20261121T100000Z', 'soon', ''])(
    'keeps the rest of a license whose time is %j',
    async time => {
      const org = orgWith({ license: Object.fromEntries(times.map(field => [field, time])) })
      expect(await read(org)).toStrictEqual(org)
    },
  )

  it('is read from an answer of 900 KiB', async () => {
    const org = orgWith({ license: { features: { names: 'x'.repeat(900 * 1024) } } })
    expect(await read(org)).toStrictEqual(org)
  })
})

describe('data beyond the specification is kept', () => {
  it('fields', async () => {
    const org = orgWith({ colour: 'red', license: { maxDreams: 3, nested: { value: null } } })
    expect(await read(org)).toStrictEqual(org)
  })

  it.each([
    { paymentStatus: 'pending' },
    { plan: 'galactic' },
    { plan: 'otherbrandCloud' },
    { license: { tier: 'gold' } },
    { role: 'janitor' },
  ])('values: %j', async fields => {
    expect(await read(orgWith(fields))).toMatchObject(fields)
  })

  it('and the types accept unknown values, and still suggest the known ones', () => {
    expectTypeOf<string>().toExtend<Plan>()
    expectTypeOf<string>().toExtend<PaymentStatus>()
    expectTypeOf<'acmeCloud' | 'comped'>().toExtend<Plan>()
  })

  it('no name of a field touches a prototype', async () => {
    const text = JSON.stringify(specifiedOrg).replace(
      '{',
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{}},',
    )
    const org = await read(text)
    expect(org).not.toHaveProperty('polluted')
    expect(Object.getPrototypeOf(org)).toBe(Object.prototype)
  })
})
