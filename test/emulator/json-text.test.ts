import fc from 'fast-check'
import { expect, it } from 'vitest'
import { BodyEvents } from '../../src/emulator/body-events.ts'
import { parsedJson } from '../../src/emulator/json-text.ts'
import { elementSpans } from '../../src/emulator/spans.ts'
import { whereJsonBreaks } from '../../src/emulator/where-json-breaks.ts'

it.each([
  ['{"a":1}', undefined],
  [' [1, -2.5e+3, true, null, "\\u00e9\\n"] ', undefined],
  ['', 0],
  ['{', 1],
  ['{"a"', 4],
  ['{"a" 1}', 5],
  ['{"a":}', 5],
  ['{"a":1,}', 7],
  ['{a:1}', 1],
  ['[1,]', 3],
  ['[1}', 2],
  ['[01]', 2],
  ['"a\nb"', 2],
  ['"\\x"', 1],
  ['"\\u12"', 1],
  ['nul', 0],
  ['1 2', 2],
  ['"open', 5],
  ['"\\', 1],
])('%j stops being JSON at %s', (text, index) => {
  expect(whereJsonBreaks(text)).toBe(index)
})

/** Valid JSON, and valid JSON with one character put somewhere or taken away. */
const almostJson = fc
  .tuple(fc.json({ maxDepth: 3 }), fc.nat(), fc.constantFrom('', ...'{}[]",:\\ \n1-e.tn'), fc.nat(1))
  .map(([text, at, char, removed]) => {
    const index = at % (text.length + 1)
    return text.slice(0, index) + char + text.slice(index + removed)
  })

it('finds a break exactly in the texts that JSON.parse refuses', () => {
  fc.assert(
    fc.property(almostJson, text => {
      expect(whereJsonBreaks(text) === undefined).toBe(parsedJson(text) !== undefined)
    }),
    { numRuns: 2000 },
  )
})

it('finds the elements of exactly the arrays that JSON.parse accepts', () => {
  fc.assert(
    fc.property(fc.array(almostJson, { maxLength: 4 }), parts => {
      const body = Buffer.from(`[${parts.join(',')}]`)
      const spans = elementSpans(body)
      const elements = new BodyEvents(body, spans ?? [])
      const values = Array.from({ length: elements.count }, (_, index) => parsedJson(elements.line(index)))
      const whole = parsedJson(body.toString())
      expect(spans && !values.includes(undefined) ? values : undefined).toEqual(whole)
    }),
    { numRuns: 2000 },
  )
})
