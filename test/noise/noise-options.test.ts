/** The values that `collapse` and `hold` accept, and the errors for all others. */
import { describe, expect, it } from 'vitest'
import { isIntended } from '../../src/accounting/drop-reasons.ts'
import { resolveOptions } from '../../src/options/resolve.ts'
import type { ShipperOptions } from '../../src/options/shipper-options.ts'
import { startShipping } from '../support/shipping.ts'

const good = { baseUrl: 'https://logs.example', dataset: 'd', token: 'a-token' }
const MiB = 1_048_576

const resolved = (options: ShipperOptions) => {
  const { collapse, hold } = resolveOptions({ ...good, ...options }, {})
  return { collapse, hold }
}

describe('the options collapse and hold', () => {
  it('are off unless they are given, and have defaults', () => {
    expect(resolved({})).toEqual({ collapse: undefined, hold: undefined })
    expect(resolved({ collapse: {}, hold: {} })).toEqual({
      collapse: { windowMs: 10_000 },
      hold: { below: 'warn', trigger: 'error', maxEvents: 5000, maxBytes: 4 * MiB, maxAgeMs: 60_000 },
    })
    const small = resolved({ hold: {}, maxBufferedBytes: 8 * MiB, maxBatchBytes: MiB })
    expect(small.hold?.maxBytes).toBe(2 * MiB)
  })

  it('take what is given', () => {
    const hold = { below: 'debug', trigger: 'fatal', maxEvents: 1, maxBytes: 1024, maxAgeMs: 100 } as const
    expect(resolved({ collapse: { windowMs: 100 }, hold: { per: 'trace', ...hold } })).toEqual({
      collapse: { windowMs: 100 },
      hold,
    })
  })

  it.each<[object, string, string]>([
    [{ collapse: true }, 'collapse', 'an object: { windowMs }'],
    [{ collapse: { windowMs: 99 } }, 'collapse.windowMs', 'an integer from 100 to 3600000 (milliseconds)'],
    [{ collapse: { windowMs: '1s' } }, 'collapse.windowMs', 'an integer from 100 to 3600000 (milliseconds)'],
    [{ hold: true }, 'hold', 'an object'],
    [{ hold: { below: 'trace' } }, 'hold.below', "'debug', 'info', 'warn', 'error' or 'fatal'"],
    [{ hold: { below: 'warning' } }, 'hold.below', "'debug', 'info', 'warn', 'error' or 'fatal'"],
    [{ hold: { per: 'request' } }, 'hold.per', "'trace'"],
    [{ hold: { below: 'fatal' } }, 'hold.below', "at most as severe as hold.trigger ('error')"],
    [{ hold: { trigger: 'info' } }, 'hold.trigger', "at least as severe as hold.below ('warn')"],
    [{ hold: { maxEvents: 0 } }, 'hold.maxEvents', 'an integer from 1 to 100000 (events)'],
    [{ hold: { maxBytes: 1023 } }, 'hold.maxBytes', 'an integer from 1024'],
    [{ hold: { maxBytes: 9 * MiB }, maxBufferedBytes: 32 * MiB }, 'hold.maxBytes', `at most a quarter`],
    [{ hold: { maxAgeMs: 1 } }, 'hold.maxAgeMs', 'an integer from 100 to 3600000 (milliseconds)'],
  ])('refuse %j', (options, name, expected) => {
    const make = () => resolveOptions({ ...good, ...options } as ShipperOptions, {})
    expect(make).toThrow(`logferry: option \`${name}\` must be ${expected}`)
    expect(make).toThrow(expect.objectContaining({ code: 'LOGFERRY_INVALID_OPTION' }))
  })

  it('refuse an option of another name', () => {
    const make = () => resolveOptions({ ...good, collapse: { window: 5 } } as unknown as ShipperOptions, {})
    expect(make).toThrow('there is no option `collapse.window`. Did you mean `collapse.windowMs`?')
  })
})

it('drops that were asked for are intended', () => {
  expect(['collapsed', 'untriggered', 'memory'].map(reason => isIntended(reason as 'memory'))).toEqual([
    true,
    true,
    false,
  ])
})

it('a summary fits into a dataset whose fields are used up', async () => {
  await using shipping = await startShipping({ org: { license: { maxFields: 12 } } })
  const { orgId, accessToken } = shipping.emulator
  const shipper = shipping.ship({ collapse: {}, limits: { orgId, accessToken } })
  while (shipper.stats().limits?.readAt === undefined) await new Promise(resolve => setTimeout(resolve, 5))
  const fields = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`field${n}`, n]))
  for (let n = 0; n < 3; n++) shipper.ship({ level: 'info', message: 'wide', ...fields })
  await shipper.flush()
  const [first, summary] = shipping.emulator.events('d')
  expect(first).toHaveProperty('overflow')
  expect(summary).toMatchObject({ message: 'wide', logferry: { repeated: { count: 2 } } })
})
