import { expect, it } from 'vitest'
import { delivered } from '../delivery/wired.ts'
import { type Process, World } from './world.ts'

const refused = { kind: 'retryable', reason: '503', retryAfterMs: 10 } as const

it('a half-delivered batch that is handed off whole because the disk is full is settled again by its process, and the counts balance', async () => {
  const world = new World({ directory: '/spool', maxBytes: 1_000_000, durability: 'disk' })
  world.start()
  const [process] = world.processes as [Process]
  const { ledger } = process
  world.answers = [{ kind: 'too-large' }, delivered, refused]
  for (let n = 0; n < 10; n++) process.logText('d', 2, 'x'.repeat(1000))
  process.flush()
  await expect
    .poll(() => [world.answers.length, process.delivery.inFlight], { interval: 1, timeout: 10_000 })
    .toEqual([0, 0])
  world.disk.freeBytes = 0
  process.close()
  expect(ledger).toMatchObject({ accepted: 15, delivered: 5, handedOff: 10, pending: 10 })
  world.disk.freeBytes = Number.POSITIVE_INFINITY
  process.flush()
  await expect.poll(() => ledger.pending, { timeout: 10_000 }).toBe(0)
  expect(ledger).toMatchObject({ accepted: 15, delivered: 15, handedOff: 0, dropped: 0 })
})
