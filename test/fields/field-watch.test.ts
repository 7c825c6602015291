import { describe, expect, it, vi } from 'vitest'
import { FieldWatch } from '../../src/fields/field-watch.ts'
import { valueLikeness } from '../../src/fields/value-like-name.ts'
import { cpuMs } from '../support/cpu-ms.ts'

function watch() {
  const listener = { onValueLikeNames: vi.fn(), onTypeChange: vi.fn() }
  return { watch: new FieldWatch(listener), ...listener }
}

describe('the name of a field', () => {
  it.each(['8f3a2b1c-1234-4abc-9def-0123456789ab', 'alice@example.com', '8f3a2b1c8f3a2b1c'])(
    'looks like a value: %s',
    name => {
      expect(valueLikeness(name)).toBe('certain')
    },
  )

  it.each([
    '42',
    '8f3a',
    'order_12345',
    'k2026-11-22',
    'some words',
    'https://x.y',
    '10.0.0.7',
    'cus_NffrFeUfNV2Hib',
    '01ARZ3NDEKTSV4RRFFQ69G5FAV',
  ])('may be a value: %s', name => {
    expect(valueLikeness(name)).toBe('likely')
  })

  it.each([
    'level',
    'http2',
    'a1',
    'oauth2ClientSecret',
    'sha256',
    'x509',
    'app.kubernetes.io/name',
    'user_id',
    'face',
    'größe',
    'v1',
    'oauth2_token',
  ])('is a name: %s', name => {
    expect(valueLikeness(name)).toBe(undefined)
  })
})

describe('names that look like values', () => {
  it('are told once for each group, with the beginning of one of them', () => {
    const { watch: fields, onValueLikeNames } = watch()
    for (let i = 0; i < 50; i++) fields.observe('d', { users: { [`8f3a${1000 + i}`]: { visits: i } }, level: 'info' })
    const found = { example: 'users.8f3a…', group: 'users', names: 3 }
    expect(onValueLikeNames.mock.calls).toEqual([['d', found]])
    expect(fields.findings('d').valueLikeNames).toEqual([{ ...found, names: 50 }])
  })

  it.each<[string, object]>([
    ['dotted', { 'users.8f3a1.visits': 1 }],
    ['in a group with a dotted name', { 'shop.users': { '8f3a1.visits': 1 } }],
    ['in a dotted name within a group', { shop: { 'users.8f3a1': 1 } }],
    ['a whole dotted name', { '10.0.0.1': 1 }],
  ])('are found where names have dots: %s', (kind, event) => {
    const { watch: fields, onValueLikeNames } = watch()
    for (const digit of '1234567') {
      fields.observe('d', JSON.parse(JSON.stringify(event).replace(/(8f3a|10.0.0.)1/, `$1${digit}`)))
    }
    const group = kind === 'dotted' ? 'users' : kind.startsWith('in') ? 'shop.users' : ''
    const example = group === '' ? '10.0…' : `${group}.8f3a…`
    expect(onValueLikeNames.mock.calls).toEqual([['d', { example, group, names: 3 }]])
  })

  it('are not found in names with dots and few digits', () => {
    const { watch: fields, onValueLikeNames } = watch()
    const names = ['http.request.method', 'k8s.pod.name', 'feature.v1.on', 'feature.v2.on', 'feature.v3.on', 'a.b2.c']
    for (const name of names) fields.observe('d', { [name]: 1 })
    expect(onValueLikeNames).not.toHaveBeenCalled()
  })

  it('are not told if there are one or two, which may be chance', () => {
    const { watch: fields, onValueLikeNames } = watch()
    for (let i = 0; i < 50; i++) fields.observe('d', { codes: { 200: 1, 404: 2 } })
    expect(onValueLikeNames).not.toHaveBeenCalled()
    expect(fields.findings('d').valueLikeNames).toEqual([])
  })

  it('are told at once if there is no doubt', () => {
    const { watch: fields } = watch()
    fields.observe('d', { 'alice@example.com': 1 })
    expect(fields.findings('d').valueLikeNames).toEqual([{ example: 'alic…', group: '', names: 1 }])
  })
})

describe('a change of type', () => {
  it.each([
    ['a text after a number', 1, 'one', ['number', 'string']],
    ['a group after a text', 'one', { a: 1 }, ['string', 'object']],
    ['a list after a group', { a: 1 }, [1], ['object', 'array']],
    ['a text after an Error', new Error('x'), 'x', ['object', 'string']],
    ['a number after a bigint, which is a text', 10n, 10, ['string', 'number']],
    ['a text after a Map', new Map([['a', 1]]), 'a', ['object', 'string']],
    ['a flag after a date, which is a text', new Date(0), true, ['string', 'boolean']],
  ])('is told once for each field: %s', (_, first, second, types) => {
    const { watch: fields, onTypeChange } = watch()
    for (const value of [first, null, undefined, first, second, first]) fields.observe('d', { order: { total: value } })
    expect(onTypeChange.mock.calls).toEqual([['d', { path: 'order.total', types }]])
    expect(fields.findings('d').typeChanges).toEqual([{ path: 'order.total', types }])
  })

  it('is none between datasets', () => {
    const { watch: fields, onTypeChange } = watch()
    fields.observe('a', { total: 1 })
    fields.observe('b', { total: 'one' })
    expect(onTypeChange).not.toHaveBeenCalled()
  })
})

describe('work and memory are bounded', () => {
  it('after 200 events of a dataset, by looking at every 64th', () => {
    const { watch: fields } = watch()
    let reads = 0
    const event = {
      get level() {
        reads++
        return 'info'
      },
    }
    for (let i = 0; i < 200 + 640; i++) fields.observe('d', event)
    expect(reads).toBeLessThan(2 * (200 + 12))
  })

  it('in turns for more than 64 datasets, so that each one is looked at long enough', () => {
    const { watch: fields, onTypeChange } = watch()
    let reads = 0
    for (let i = 0; i < 30_000; i++) {
      fields.observe(`d${i % 100}`, {
        get total() {
          reads++
          return i < 10_000 ? i : 'many'
        },
      })
    }
    expect(reads).toBeLessThan(15_000)
    expect(onTypeChange.mock.calls.length).toBeGreaterThan(50)
    const later = 'later'
    for (let i = 0; i < 5000; i++) fields.observe(later, { total: i < 4500 ? i : 'many' })
    expect(fields.findings(later).typeChanges).toEqual([{ path: 'total', types: ['number', 'string'] }])
  })

  it('for a wide event, a deep one, a cycle, and a million names', () => {
    const { watch: fields } = watch()
    const cycle: Record<string, unknown> = {}
    cycle.cycle = cycle
    const wide = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, i) => [`name_${'abcdefghij'[i % 10]}${'x'.repeat(i / 10)}`, i]),
    )
    for (let i = 0; i < 60; i++) for (const event of [wide, cycle]) fields.observe(`d${i}`, event)
    for (let i = 0; i < 200; i++)
      fields.observe('ids', Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`${i * 400 + n}`, 1])))
    expect(fields.findings('ids').valueLikeNames).toEqual([{ example: expect.any(String), group: '', names: 1000 }])
  })

  it('does not throw where a getter or a proxy does', () => {
    const { watch: fields } = watch()
    const raise = () => {
      throw new Error('no')
    }
    fields.observe('d', Object.defineProperty({}, 'a', { enumerable: true, get: raise }))
    fields.observe('d', new Proxy({}, { getPrototypeOf: raise, ownKeys: raise }))
    fields.observe('d', null as unknown as object)
  })
})

it('looks at slow members for a few milliseconds', () => {
  const { watch: fields } = watch()
  const event = {}
  for (let i = 0; i < 500; i++) {
    const get = () => {
      const untilMs = performance.now() + 0.5
      while (performance.now() < untilMs);
      return 1
    }
    Object.defineProperty(event, 'slow'.repeat(1 + (i % 40)) + 'ly'.repeat(i / 40), { enumerable: true, get })
  }
  expect(cpuMs(() => fields.observe('d', event))).toBeLessThan(50)
})
