import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { escapeJson } from '../../src/text/escape-json.ts'
import { hostileText, unprintable } from '../support/hostile-text.ts'

describe('JSON, escaped for a terminal', () => {
  it('is the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), value => {
        const json = JSON.stringify(value, null, 2)
        expect(JSON.parse(escapeJson(json))).toEqual(JSON.parse(json))
      }),
    )
  })

  it('has no control character and no invisible character', () => {
    const value = { [hostileText('name')]: hostileText('value'), list: [1, '\u007f\u0085'] }
    const escaped = escapeJson(JSON.stringify(value))
    expect(escaped).not.toMatch(unprintable)
    expect(JSON.parse(escaped)).toEqual(value)
  })

  it('is unchanged if all of it is printable', () => {
    const json = '{"message":"Größe \\u001b ✓ 😀","n":1}'
    expect(escapeJson(json)).toBe(json)
  })

  it('has spaces for tabs and returns between its tokens', () => {
    expect(escapeJson('[\t1,\r2]')).toBe('[ 1, 2]')
  })
})
