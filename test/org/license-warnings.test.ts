import { describe, expect, it } from 'vitest'
import { licenseWarnings } from '../../src/org/license-warnings.ts'
import type { License, Org } from '../../src/org/organization.ts'

const nowMs = Date.parse('2026-11-21T00:00:00Z')
const usage = { nowMs, region: 'eu', datasets: 3 }
const org = (license: License, fields: Partial<Org> = {}): Org => ({
  id: 'o',
  name: 'O',
  lastUsageSync: '',
  paymentStatus: 'success',
  plan: 'enterprise',
  planCreated: '',
  primaryEmail: 'a@example.com',
  ...fields,
  license,
})

describe('a license', () => {
  it.each<[string, License, Partial<Org>, object, RegExp | undefined]>([
    [
      'that is good gives no warning',
      { validFrom: '2026-01-01T00:00:00Z', expiresAt: '2027-01-01T00:00:00Z', regions: ['eu'], maxDatasets: 3 },
      {},
      {},
      undefined,
    ],
    ['that says nothing gives no warning', {}, {}, {}, undefined],
    ['that ends in two weeks', { expiresAt: '2026-12-04T00:00:00Z' }, {}, {}, /expires at 2026-12-04/],
    ['that has ended', { expiresAt: '2026-11-20T23:59:59Z' }, {}, {}, /expired at 2026-11-20/],
    ['that has ended by a date in the basic format', { expiresAt: '20261120T235959Z' }, {}, {}, /expired at 20261120T/],
    ['that is not valid yet', { validFrom: '2026-11-22T00:00:00Z' }, {}, {}, /not valid before 2026-11-22/],
    ['with an invalid date gives no warning', { expiresAt: 'never', validFrom: '' }, {}, {}, undefined],
    [
      'whose payment failed',
      {},
      { paymentStatus: 'failed', firstFailedPayment: '2026-11-01' },
      {},
      /payment status is failed since 2026-11-01/,
    ],
    ['whose payment is blocked', {}, { paymentStatus: 'blocked' }, {}, /payment status is blocked\. Settle/],
    ['whose payment is not applicable gives no warning', {}, { paymentStatus: 'na' }, {}, undefined],
    ['for another region', { regions: ['us', 'ap'] }, {}, {}, /configured region is eu, but the license is for us, ap/],
    [
      'for another default region',
      { defaultRegion: 'us' },
      {},
      {},
      /configured region is eu, but the license is for us/,
    ],
    [
      'for another default region, with an empty list of regions',
      { regions: [], defaultRegion: 'us' },
      {},
      {},
      /configured region is eu, but the license is for us/,
    ],
    ['for a place in our region gives no warning', { regions: ['EU-central-1'] }, {}, {}, undefined],
    [
      'for another region, where none is configured, gives no warning',
      { regions: ['us'] },
      {},
      { region: undefined },
      undefined,
    ],
    ['for no number of datasets gives no warning', { maxDatasets: 0 }, {}, {}, undefined],
    ['for fewer datasets', { maxDatasets: 2 }, {}, {}, /ships to 3 datasets, but the license allows 2/],
  ])('%s', (_, license, fields, used, message) => {
    const messages = licenseWarnings(org(license, fields), { ...usage, ...used }).map(warning => warning.message)
    if (message === undefined) expect(messages).toEqual([])
    else expect(messages).toEqual([expect.stringMatching(message)])
  })
})
