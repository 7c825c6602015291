import { describe, expect, it } from 'vitest'
import { RoomForOthers } from '../../src/delivery/room-for-others.ts'

describe('room for others', () => {
  it('is offered for 12 seconds, and again after ever longer pauses', () => {
    const room = new RoomForOthers()
    const offeredAt = Array.from({ length: 3000 }, (_, second) => second).filter(second => room.offer(second * 1000))
    expect(offeredAt).toEqual([0, 45, 225, 945, 1665, 2385])
    expect([0, 11_999, 12_000].map(ms => room.isOffered(2_385_000 + ms))).toEqual([true, true, false])
  })

  it('is offered as often as at first if none was needed for a long time', () => {
    const room = new RoomForOthers()
    for (const ms of [0, 45_000, 225_000]) expect(room.offer(ms)).toBe(true)
    expect([1_700_000, 1_744_000, 1_745_000].map(ms => room.offer(ms))).toEqual([true, false, true])
  })
})
