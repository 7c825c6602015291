import { describe, expect, test } from 'vitest'
import { eventToJson } from '../../src/record/event-to-line.ts'

/** Returns the line of an event that is too large for `maxBytes`. */
function cut(event: object, maxBytes: number) {
  const altered = { stubbed: 0, cut: 0 }
  const json = eventToJson(event, maxBytes, altered)
  expect(altered.cut).toBe(1)
  expect(Buffer.byteLength(json)).toBeLessThanOrEqual(maxBytes)
  return { json, bytes: Buffer.byteLength(json), fields: JSON.parse(json) }
}

/** Cuts an event that was cut before, and counted then. */
function cutAgain(event: object, maxBytes: number) {
  const altered = { stubbed: 0, cut: 0 }
  const json = eventToJson(event, maxBytes, altered)
  expect(altered.cut).toBe(0)
  expect(Buffer.byteLength(json)).toBeLessThanOrEqual(maxBytes)
  return { fields: JSON.parse(json) }
}

function bytesOf(event: object): number {
  return Buffer.byteLength(JSON.stringify(event))
}

const traceId = '0af7651916cd43dd8448eb211c80319c'

describe('an event that is too large', () => {
  test('loses the end of its largest text, with a mark that names the lost length', () => {
    const event = { level: 'info', message: 'm', body: 'x'.repeat(5_000_000), user: { id: 7 } }
    const { fields, bytes } = cut(event, 1_000_000)
    expect(fields).toMatchObject({ level: 'info', message: 'm', user: { id: 7 } })
    expect(fields.body).toMatch(/^x{900000,}\.\.\. \[\d+ more characters\]$/)
    expect(fields.body.indexOf('...') + Number(/(\d+) more/.exec(fields.body)?.[1])).toBe(5_000_000)
    expect(fields.logferry).toEqual({ cut: true, original_bytes: bytesOf(event) })
    expect(bytes).toBeGreaterThan(999_900)
  })

  test('keeps its small fields whole, while its large fields share the rest', () => {
    const { fields } = cut(
      { a: 'a'.repeat(9000), b: ['b'.repeat(9000), 1], c: { d: 'd'.repeat(9000) }, e: 'e'.repeat(500) },
      4000,
    )
    const kept = [fields.a, fields.b[0], fields.c.d].map(text => text.indexOf('...'))
    expect(Math.max(...kept) - Math.min(...kept)).toBeLessThan(50)
    expect(fields.b[1]).toBe(1)
    expect(fields.e).toBe('e'.repeat(500))
  })

  test.each([
    ['characters of three bytes', '漢'],
    ['surrogate pairs', '\u{1f600}'],
    ['halves of surrogate pairs', '\udc00'],
    ['control characters', '\u0001'],
    ['quotes', '"'],
    ['a mixture', 'aé漢\u{1f600}\n"\\\u007f\ud800'],
  ])('uses the available room with %s, and never cuts within a character', (_, unit) => {
    for (let maxBytes = 400; maxBytes < 420; maxBytes++) {
      const { fields, bytes } = cut({ message: unit.repeat(1000) }, maxBytes)
      const start = fields.message.split('... [')[0] as string
      expect(unit.repeat(1000).startsWith(start)).toBe(true)
      if (unit.length === 2) expect(start.isWellFormed()).toBe(true)
      expect(bytes).toBeGreaterThan(maxBytes - 60)
    }
  })

  test.each([
    ['characters of three bytes', '漢'],
    ['surrogate pairs', '\u{1f600}'],
    ['surrogate pairs at odd places', 'a\u{1f600}\u{1f600}'],
    ['halves of surrogate pairs', '\udc00'],
    ['halves the other way round', '\udc00\ud800'],
    ['a mixture', 'aé漢\u{1f600}\n"\\\u007f\ud800'],
  ])('uses the available room with a long text of %s', (_, unit) => {
    const text = `x${unit.repeat(20_000)}`
    for (let maxBytes = 30_000; maxBytes < 30_012; maxBytes++) {
      const { fields, bytes } = cut({ message: text }, maxBytes)
      const start = fields.message.split('... [')[0] as string
      expect(text.startsWith(start)).toBe(true)
      if (!/[\ud800-\udfff]$/.test(text.at(start.length - 1) as string)) continue
      expect((text.codePointAt(start.length - 1) as number) > 0xffff).toBe(false) // not within a surrogate pair
      expect(bytes).toBeGreaterThan(maxBytes - 60)
    }
  })

  test('keeps important fields that come last if it has too many fields', () => {
    const many = Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`field${i}`, i]))
    const { fields } = cut({ ...many, level: 'error', message: 'the end', trace_id: traceId }, 10_000)
    expect(fields).toMatchObject({ field0: 0, field1: 1, level: 'error', message: 'the end', trace_id: traceId })
    expect(fields['…']).toBe('of 50003 fields')
  })

  test('is shortened if it has too many items', () => {
    const { fields } = cut({ message: 'm', items: Array.from({ length: 50_000 }, (_, i) => i) }, 1000)
    expect(fields.items.slice(0, 3)).toEqual([0, 1, 2])
    expect(fields.items.at(-1)).toBe('… of 50000 items')
    expect(fields.message).toBe('m')
  })

  test('names the total number even if not every item was read', () => {
    const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`f${i}`, [i]]))
    const { fields } = cut(
      { wide, items: Array(1_000_000).fill(0), user: { id: 7 }, level: 'warn', message: 'm' },
      5000,
    )
    expect(fields).toMatchObject({ level: 'warn', message: 'm', user: { id: 7 }, logferry: { cut: true } })
    expect(fields.wide['…']).toBe('of 100000 fields')
    expect(fields.items.at(-1)).toBe('… of 1000000 items')
    expect(fields.logferry).toEqual({ cut: true })
  })

  test('keeps level, ids and the start of the message in 256 bytes', () => {
    const filler = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`filler${i}`, 'f'.repeat(100)]))
    const { fields } = cut({ ...filler, level: 'error', message: 'it broke. '.repeat(100), trace_id: traceId }, 256)
    expect(fields).toMatchObject({ level: 'error', trace_id: traceId, logferry: { cut: true } })
    expect(fields.message).toMatch(/^it broke\. /)
  })

  test.each([
    [256, 100],
    [1_000_000, 100_000],
  ])('keeps the timestamp that it brings along, behind more fields than fit %d bytes', (maxBytes, count) => {
    const filler = Object.fromEntries(Array.from({ length: count }, (_, i) => [`filler${i}`, 'f'.repeat(100)]))
    const time = '2026-01-01T00:00:00Z'
    expect(cut({ ...filler, message: 'm', _time: time }, maxBytes).fields).toMatchObject({ _time: time, message: 'm' })
  })

  test('keeps the start of a name of a megabyte', () => {
    const long = 'n'.repeat(1_000_000)
    const event = { [`${long}1`]: 'one', [`${long}2`]: 'two', message: 'm' }
    const { fields } = cut(event, 10_000)
    expect(Object.values(fields)).toEqual(['one', 'two', 'm', { cut: true, original_bytes: bytesOf(event) }])
    expect(Object.keys(fields)[0]).toMatch(/^n{200}…/)
  })

  test('keeps the order of its fields', () => {
    const { fields } = cut({ z: 'z'.repeat(500), message: 'm', a: 'a'.repeat(500), level: 'info' }, 400)
    expect(Object.keys(fields)).toEqual(['z', 'message', 'a', 'level', 'logferry'])
  })

  test('keeps a field of its own with the name of the mark, beside the mark', () => {
    const event = { logferry: { version: 3, cut: 'mine' }, text: 'x'.repeat(1000) }
    const { fields } = cut(event, 500)
    expect(fields.logferry).toEqual({ version: 3, cut: true, original_bytes: bytesOf(event) })
  })

  test.each([5000, 2040, 2001])('that was cut to %d bytes before names the figures of the whole event', before => {
    const event = { message: 'x'.repeat(100_000), level: 'info', items: Array(3000).fill(1) }
    const { fields } = cutAgain(cut(event, before).fields, Math.floor(before * 0.9))
    expect(fields.logferry.original_bytes).toBe(bytesOf(event))
    expect(fields.message.indexOf('...') + Number(/(\d+) more characters\]$/.exec(fields.message)?.[1])).toBe(100_000)
    expect(fields.items.at(-1)).toBe('… of 3000 items')
  })

  test('that was cut before names no original size if that is unknown', () => {
    const { fields } = cutAgain(cut({ items: Array(1_000_000).fill('x') }, 5000).fields, 4000)
    expect(fields.logferry).toEqual({ cut: true })
  })

  test('counts a text with the mark of a cut by the mark, whatever number it has', () => {
    for (const number of ['0', '9'.repeat(10), '9'.repeat(15), '9'.repeat(300)]) {
      const text = `${'x'.repeat(5000)}... [${number} more characters]`
      for (let maxBytes = 400; maxBytes < 440; maxBytes++) {
        expect(cut({ text }, maxBytes).fields.text).toMatch(/^x+\.\.\. \[\d+ more characters\]$/)
      }
    }
  })

  test('is not misled by a field or item that looks like the mark of a cut', () => {
    const long = 'of 1 fields'.repeat(1000)
    const items = [...Array(1000).fill(1), `… ${long} items`]
    const { fields } = cut({ a: { ...Array(1000).fill(1), '…': long }, items, length: 1 }, 1000)
    expect(fields.a['…']).toBe('of 1001 fields')
    expect(fields.items.at(-1)).toBe('… of 1001 items')
  })

  test('loses whole bytes of a buffer', () => {
    const { fields } = cut({ message: 'm', bytes: Buffer.alloc(10_000, 1) }, 1000)
    expect(fields.bytes).toMatch(/^(AQEB)+/)
    expect(fields.message).toBe('m')
  })

  test('is cut quickly if repeated references would make its text fill the memory', () => {
    let laughs: object = { text: 'ha' }
    for (let i = 0; i < 60; i++) laughs = { a: laughs, b: laughs }
    const { fields } = cut({ laughs, message: 'm', level: 'info' }, 100_000)
    expect(fields).toMatchObject({ level: 'info', message: 'm' })
    const text = 'x'.repeat(1_000_000)
    expect(cut({ texts: Array(100_000).fill(text), message: 'm' }, 100_000).fields.message).toBe('m')
  })

  test('is cut quickly if it is sparse, or pretends to be large', () => {
    const endless = new Proxy([], { get: (_, name) => (name === 'length' ? Number.MAX_VALUE : 'x') })
    expect(cut({ message: 'm', sparse: Array(4_000_000_000), endless }, 10_000).fields.message).toBe('m')
  })

  test('is cut quickly', () => {
    const event = { message: 'x'.repeat(5_000_000) }
    const start = performance.now()
    cut(event, 1_000_000)
    expect(performance.now() - start).toBeLessThan(1000)
  })
})
