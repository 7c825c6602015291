import { expect, it } from 'vitest'
import { kindOfThrown } from '../../src/text/kind-of-thrown.ts'

it.each<[unknown, string]>([
  [new TypeError('m'), 'TypeError'],
  [Object.assign(new Error('m'), { name: 'a text with data' }), 'Error'],
  [7, 'a number'],
  ['text', 'a string'],
  [{}, 'an object'],
  [null, 'null'],
  [undefined, 'undefined'],
])('a warning calls the thrown %o "%s"', (thrown, kind) => {
  expect(kindOfThrown(thrown)).toBe(kind)
})
