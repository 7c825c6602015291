import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { BodyEvents } from '../../src/emulator/body-events.ts'
import { findEvents } from '../../src/emulator/find-events.ts'
import { parsedJson } from '../../src/emulator/json-text.ts'
import { isNestedDeeper } from '../../src/emulator/nesting.ts'
import { elementSpans } from '../../src/emulator/spans.ts'
import { whereJsonBreaks } from '../../src/emulator/where-json-breaks.ts'
import { soakRuns } from '../support/soak-runs.ts'

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
])('%j stops being JSON at %s', async (text, index) => {
  expect(await whereJsonBreaks(text)).toBe(index)
})

/** Valid JSON, and valid JSON with one character inserted or removed. */
const almostJson = fc
  .tuple(fc.json({ maxDepth: 3 }), fc.nat(), fc.constantFrom('', ...'{}[]",:\\ \n1-e.tn'), fc.nat(1))
  .map(([text, at, char, removed]) => {
    const index = at % (text.length + 1)
    return text.slice(0, index) + char + text.slice(index + removed)
  })

it('finds an error exactly in the texts that JSON.parse refuses', async () => {
  await fc.assert(
    fc.asyncProperty(almostJson, async text => {
      expect((await whereJsonBreaks(text)) === undefined).toBe(parsedJson(text) !== undefined)
    }),
    { numRuns: soakRuns(300) },
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
    { numRuns: soakRuns(300) },
  )
})

it('names the first line that is not valid UTF-8', async () => {
  const piece = fc.constantFrom('\n', '\n', 'a', 'é', '☃', '𝄞').map(text => Buffer.from(text))
  const broken = fc
    .constantFrom([0xff], [0xc3], [0xe2, 0x98], [0x80], [0xed, 0xa0, 0x80])
    .map(bytes => Buffer.from(bytes))
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof({ weight: 9, arbitrary: piece }, { weight: 1, arbitrary: broken })),
      async pieces => {
        const body = Buffer.concat(pieces)
        fc.pre(!isUtf8(body))
        const lines = body.toString('latin1').split('\n')
        const line = 1 + lines.findIndex(text => !isUtf8(Buffer.from(text, 'latin1')))
        const bounds = { maxRequestEvents: 1000, maxNestingDepth: 10, maxEventBytes: 1000 }
        expect(await findEvents(body, 'application/x-ndjson', bounds)).toMatchObject({
          message: `line ${line} of the body is not valid UTF-8`,
        })
      },
    ),
    { numRuns: soakRuns(300) },
  )
})

it('knows how deeply a text is nested', () => {
  const depthOf = (value: unknown): number =>
    typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), fc.integer({ min: 1, max: 6 }), (text, maxDepth) => {
      expect(isNestedDeeper(text, maxDepth)).toBe(depthOf(JSON.parse(text)) > maxDepth)
    }),
    { numRuns: soakRuns(300) },
  )
})
