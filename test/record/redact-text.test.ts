/** The bound of what is examined in the texts of one event. */
import { expect, it } from 'vitest'
import { TextMask } from '../../src/record/redact-text.ts'

it.each([
  ['plain', 'x'.repeat(60_000)],
  ['with what looks like the mark of a cut', `${'x'.repeat(60_000)}... [9 more characters] more`],
])('texts of an event are examined up to a bound, and cut beyond it (%s)', (_, text) => {
  let examined = 0
  const pattern = Object.assign(/secret/g, {
    test: (examinedText: string) => {
      examined += examinedText.length
      return false
    },
  })
  const mask = new TextMask([pattern])
  mask.begin()
  const masked = Array.from({ length: 500 }, () => mask.mask(text, () => ''))
  expect(examined).toBeGreaterThan(4_000_000)
  expect(examined).toBeLessThan(9_000_000)
  expect(mask.isCut).toBe(true)
  expect(masked.at(-1)).toBe(`... [${text.length} more characters]`)
})
