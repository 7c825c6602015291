import { expect, it } from 'vitest'
import { type Process, World } from './world.ts'

it('an event that a full disk took only in part is not counted as damaged by the process that adopts the others', async () => {
  const world = new World({ directory: '/spool', maxBytes: 1_000_000, durability: 'disk' })
  world.start()
  world.disk.freeBytes = 2500
  const [writer] = world.processes as [Process]
  for (let n = 0; n < 10; n++) writer.logText('d', 2, 'x'.repeat(1000))
  world.disk.freeBytes = Number.POSITIVE_INFINITY
  world.kill(writer)
  world.start()
  const [heir] = world.processes as [Process]
  await expect.poll(() => heir.ledger.delivered).toBe(2)
  expect(heir.ledger).toMatchObject({ accepted: 2, dropped: 0 })
})
