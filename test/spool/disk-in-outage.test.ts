import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { retryable } from '../delivery/wired.ts'
import { type Process, World } from './world.ts'

vi.mock('../../src/time.ts', () => import('../support/time-of-globals.ts'))

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function startInOutage(): { world: World; process: Process } {
  const world = new World({ directory: '/spool', maxBytes: 1_000_000, durability: 'disk' })
  world.answers = Array.from({ length: 1000 }, () => retryable())
  world.start()
  const [process] = world.processes as [Process]
  return { world, process }
}

const log = (process: Process, count: number) => {
  for (let n = 0; n < count; n++) process.logText('d', 2, 'x'.repeat(100))
}

describe("with durability 'disk', while the service is away", () => {
  it('each event is synced within seconds, however long its batch waits for more', async () => {
    const { world, process } = startInOutage()
    for (let second = 0; second < 30; second++) {
      log(process, 1)
      await vi.advanceTimersByTimeAsync(1000)
    }
    expect(world.onDisk('synced').size).toBeGreaterThanOrEqual(27)
  })

  it('events that a full disk did not take are written once the disk has room, and the disk counts as usable', async () => {
    const { world, process } = startInOutage()
    world.disk.freeBytes = 500
    log(process, 100) // several batches
    expect(world.onDisk('seen').size).toBeLessThan(5)
    expect(process.spooling.stats().isInTrouble).toBe(true)
    world.disk.freeBytes = Number.POSITIVE_INFINITY
    await vi.advanceTimersByTimeAsync(35_000)
    expect(process.spooling.stats().isInTrouble).toBe(false)
    log(process, 5)
    expect(world.onDisk('seen').size).toBe(105)
    world.kill(process)
    world.answers = []
    world.start()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(world.missing()).toEqual([])
    expect(world.arrivals.size).toBe(105)
  })
})

it('events on a disk that cannot be read for ten seconds are delivered by the same process after that', async () => {
  const world = new World({ directory: '/spool', maxBytes: 1_000_000, durability: 'memory' })
  world.answers = Array.from({ length: 1000 }, () => retryable())
  world.start()
  const [process] = world.processes as [Process]
  for (let second = 0; second < 20; second++) {
    log(process, 100)
    await vi.advanceTimersByTimeAsync(1000)
  }
  expect(world.onDisk('seen').size).toBeGreaterThan(1000)
  world.disk.faults.set('read', 'ESTALE')
  world.answers = []
  await vi.advanceTimersByTimeAsync(10_000)
  expect(world.arrivals.size).toBeLessThan(2000)
  world.disk.faults.clear()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(world.missing()).toEqual([])
  expect(process.ledger).toMatchObject({ accepted: 2000, delivered: 2000, handedOff: 0 })
})
