import { describe, expect, it } from 'vitest'
import { UidTrail } from '../../src/dev/intake/uid-trail.ts'

const shipper = '0123456789abc'

function trailOf(...numbers: number[]) {
  const trail = new UidTrail()
  const arrive = (number: number) => trail.note({ log: { record: { uid: `${shipper}-${number}` } } })
  for (const number of numbers) arrive(number)
  return { trail, arrive }
}

describe('the uids of the events that arrived', () => {
  it('tell events that are missing since a mark, and not those that were missing before', () => {
    const { trail, arrive } = trailOf(1, 2, 5, 6)
    const mark = trail.mark()
    expect(trail.missingSince(mark)).toBe(0)
    arrive(10)
    expect(trail.missingSince(mark)).toBe(3)
    arrive(3)
    expect(trail.missingSince(mark)).toBe(3)
    arrive(8)
    expect(trail.missingSince(mark)).toBe(2)
  })

  it('tell nothing of a shipper whose numbers are in no order', () => {
    const { trail, arrive } = trailOf(1)
    const mark = trail.mark()
    for (let number = 3; number <= 10_003; number += 2) arrive(number)
    expect(trail.missingSince(mark)).toBe(0)
  })
})
