import fc from 'fast-check'
import { expect, it } from 'vitest'
import { ShortMap } from '../../src/delivery/short-map.ts'

const key = fc.integer({ min: 0, max: 8 })
const step = fc.oneof(
  fc.record({ kind: fc.constant('set' as const), key, value: fc.integer() }),
  fc.record({ kind: fc.constant('delete' as const), key }),
)

it('a short map has the entries of a map, in the same order', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), steps => {
      const map = new Map<number, number>()
      const short = new ShortMap<number, number>()
      for (const one of steps) {
        if (one.kind === 'set') {
          map.set(one.key, one.value)
          short.set(one.key, one.value)
        } else {
          map.delete(one.key)
          short.delete(one.key)
        }
        expect(short.size).toBe(map.size)
        expect(short.get(one.key)).toBe(map.get(one.key))
      }
      expect(short.entries()).toEqual([...map])
      expect(short.keys()).toEqual([...map.keys()])
      expect(short.values()).toEqual([...map.values()])
    }),
  )
})
