/** The bound of what is examined in the texts of one event. */
import { describe, expect, it } from 'vitest'
import { TextMask } from '../../src/record/redact-text.ts'
import { cpuMs } from '../support/cpu-ms.ts'

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

it('texts beyond that bound are not searched at all, because there may be many, and many patterns', () => {
  let searches = 0
  const pattern = Object.assign(/secret/g, { test: () => ++searches < 0 })
  const mask = new TextMask([pattern])
  mask.begin()
  for (let i = 0; i < 100; i++) mask.mask('x'.repeat(60_000), () => '')
  const before = searches
  expect(mask.mask('short', () => '')).toBe('... [5 more characters]')
  expect(searches).toBe(before)
  const empty = new TextMask([/x*/g])
  empty.begin()
  for (let i = 0; i < 100; i++) empty.mask('y'.repeat(60_000), () => '')
  expect(empty.mask('', () => '')).toBe('')
})

describe('patterns that take time in proportion to the square of the length', () => {
  const slow = [/\S+@\S+/g, /[\w.]+@[\w.]+/g]
  const textsOf = (texts: readonly string[], patterns: readonly RegExp[]) => {
    const mask = new TextMask(patterns)
    mask.begin()
    return { masked: texts.map(text => mask.mask(text, () => 'X')), isCut: mask.isCut }
  }

  it.each([
    ['one long text', ['x'.repeat(65_000)]],
    ['one with the mark of a cut in it', [`${'x'.repeat(60_000)}... [9 more characters] more`]],
    ['many texts', Array<string>(500).fill('x'.repeat(2000))],
  ])('take no longer than a log call may: %s', (_, texts) => {
    textsOf(texts, slow)
    let last: ReturnType<typeof textsOf> | undefined
    expect(cpuMs(() => (last = textsOf(texts, slow)))).toBeLessThan(400)
    expect(last?.isCut).toBe(true)
    expect(last?.masked.at(-1)).toMatch(/^x*\.\.\. \[\d+ more characters\]$/)
  })

  it('search the whole of a text with spaces', () => {
    const text = `${'some words here and there '.repeat(2400)} mary@example.com`
    const { masked, isCut } = textsOf([text], slow)
    expect([masked[0]?.length, masked[0]?.endsWith(' X'), isCut]).toEqual([text.length - 15, true, false])
  })
})
