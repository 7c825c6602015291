/** The shipper reads its license again and again, with one client that is loaded for the first read. */
import { expect, it, vi } from 'vitest'
import { resolveOptions } from '../src/options/resolve.ts'
import { LicenseReader } from '../src/shipper/license-reader.ts'
import { startShipping } from './support/shipping.ts'

let isLoadable = false
vi.mock('../src/org/client.ts', async importOriginal => {
  const original = await importOriginal<typeof import('../src/org/client.ts')>()
  return {
    get OrgClient() {
      if (!isLoadable) throw Object.assign(new Error('no file descriptor left'), { code: 'EMFILE' })
      return original.OrgClient
    },
  }
})

it('reads again with a client that could not be loaded the first time', async () => {
  await using shipping = await startShipping()
  const { url: baseUrl, token, orgId, accessToken } = shipping.emulator
  const options = resolveOptions({ baseUrl, token, dataset: 'd', limits: { orgId, accessToken } }, {})
  const reader = new LicenseReader({
    options,
    limits: options.limits ?? expect.fail('no limits'),
    rateLimiter: { notBeforeMs: () => 0, onOtherRequest: () => {} },
    isRateKnown: () => false,
    redact: text => text,
  })
  reader.open()
  await expect(reader.read(() => {})).rejects.toThrow('no file descriptor left')
  isLoadable = true
  expect(await reader.read(() => {})).toMatchObject({ id: orgId })
  await reader.close()
})
