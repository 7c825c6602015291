import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventIdentity } from '../../src/record/event-identity.ts'
import { soakRuns } from '../support/soak-runs.ts'

const at = (frame: string, message = 'boom') => ({
  name: 'Error',
  message,
  stack: `Error: ${message}\n    at ${frame} (a.ts:1:1)\n    at main (a.ts:9:9)`,
})
const hello = { level: 'info', message: 'hello' }
const cyclic: Record<string, unknown> = { ...hello }
cyclic.attributes = cyclic

describe('the identity of an event', () => {
  it.each<[string, object, object]>([
    ['other fields', { ...hello, n: 1 }, { ...hello, n: 2, host: 'a' }],
    ['an Error and its fields', { ...hello, err: at('f') }, { ...hello, err: { ...at('f'), code: 5 } }],
    [
      'what is below the first frame',
      { ...hello, err: at('f') },
      { ...hello, err: { ...at('f'), stack: `${at('f').stack}\n at x` } },
    ],
    ['the ids of a span', { ...hello, trace_id: 'a' }, { ...hello, trace_id: 'b' }],
  ])('does not depend on %s', (_, one, other) => {
    expect(eventIdentity(one, 'd')).toBe(eventIdentity(other, 'd'))
    expect(eventIdentity(one, 'd')).toBeDefined()
  })

  it.each<[string, object, object]>([
    ['level', hello, { ...hello, level: 'warn' }],
    ['message', hello, { ...hello, message: 'hello ' }],
    ['event name', hello, { ...hello, event_name: 'x' }],
    ['name of the error', { ...hello, err: at('f') }, { ...hello, err: { ...at('f'), name: 'TypeError' } }],
    ['message of the error', { ...hello, err: at('f') }, { ...hello, err: { ...at('f'), message: 'bang' } }],
    ['first frame', { ...hello, error: at('f') }, { ...hello, error: at('g') }],
    [
      'first frame, of an Error in place of the event',
      { ...hello, stack: at('f').stack },
      { ...hello, stack: at('g').stack },
    ],
    ['error as a text', { ...hello, error: 'a' }, { ...hello, error: 'b' }],
    ['dotted error.type', { ...hello, 'error.type': 'a' }, { ...hello, 'error.type': 'b' }],
    ['dotted error.message', { ...hello, 'error.message': 'a' }, { ...hello, 'error.message': 'b' }],
    ['dotted err.stack', { ...hello, 'err.stack': at('f').stack }, { ...hello, 'err.stack': at('g').stack }],
    ['code of an error without a message', { ...hello, err: { code: 'A' } }, { ...hello, err: { code: 'B' } }],
    ['error in a list', { ...hello, error: [at('f')] }, { ...hello, error: [at('g')] }],
    ['dotted exception.message', { ...hello, 'exception.message': 'a' }, { ...hello, 'exception.message': 'b' }],
    [
      'attributes',
      { ...hello, attributes: { error: { type: 'a' } } },
      { ...hello, attributes: { error: { type: 'b' } } },
    ],
    [
      'trace of the exception',
      { ...hello, attributes: { exception: { stacktrace: at('f').stack } } },
      { ...hello, attributes: { exception: { stacktrace: at('g').stack } } },
    ],
    ['Error as the body', { ...hello, body: new Error('a') }, { ...hello, body: new Error('b') }],
    ['fields of an Error as the body', { ...hello, body: { message: 'a' } }, { ...hello, body: { message: 'b' } }],
    [
      'text that imitates an error',
      { ...hello, error: { name: 'E', message: 'm' } },
      { ...hello, message: 'hello\nE\nm' },
    ],
  ])('depends on the %s', (_, one, other) => {
    expect(eventIdentity(one, 'd')).not.toBe(eventIdentity(other, 'd'))
  })

  it('depends on the dataset', () => {
    expect(eventIdentity(hello, 'd')).not.toBe(eventIdentity(hello, 'e'))
  })

  it.each<[string, unknown]>([
    ['no message', { level: 'info', n: 1 }],
    ['an object as its message', { level: 'info', message: { a: 1 } }],
    ['a long message', { message: 'x'.repeat(1025) }],
    ['a long message of its error', { message: 'x', error: { message: 'x'.repeat(1025) } }],
    ['nothing at all', null],
    ['no fields', 'a text'],
    [
      'a getter that throws',
      Object.defineProperty({ message: 'x' }, 'error', {
        get: () => {
          throw new Error('no')
        },
      }),
    ],
  ])('is none for an event with %s', (_, event) => {
    expect(eventIdentity(event as object, 'd')).toBeUndefined()
  })

  it('is found at once, however the event is linked', () => {
    expect(eventIdentity(cyclic, 'd')?.length).toBeLessThan(100)
  })

  it.each<[string, (read: () => undefined) => object]>([
    ['errors', read => Object.defineProperty({}, 'name', { get: read })],
    ['nothing', read => new Proxy([], { get: (list, name) => read() ?? Reflect.get(list, name) })],
  ])('is found at once for lists that refer to lists of %s 10^7 times', (_, leafOf) => {
    let reads = 0
    let error = leafOf(() => {
      if (++reads > 100_000) throw new Error('no end')
      return undefined
    })
    for (let depth = 0; depth < 7; depth++) error = Array.from({ length: 10 }, () => error)
    expect(eventIdentity({ ...hello, error }, 'd')).toBeUndefined()
    expect(reads).toBeLessThan(20_000)
  })

  it('is the same only for the same level, message and dataset', () => {
    const text = fc.string({ maxLength: 4, unit: fc.constantFrom('a', '1', ' ', '\n') })
    const event = fc.record({
      level: fc.constantFrom('a', '1', undefined),
      message: text,
      error: fc.option(text, { nil: undefined }),
    })
    fc.assert(
      fc.property(event, event, (one, other) => {
        const isSame = eventIdentity(one, 'd') === eventIdentity(other, 'd')
        if (isSame) expect([one.level, one.message]).toEqual([other.level, other.message])
        if (JSON.stringify(one) === JSON.stringify(other)) expect(isSame).toBe(true)
      }),
      { numRuns: soakRuns(500) },
    )
  })
})
