import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { type HeldRecord, HeldRecords } from '../../src/record/held-records.ts'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

it('takes no more memory in an outage, however many records have gone on, and keeps their order', () => {
  const record = (n: number) => ({ time: [n, 0] }) as unknown as HeldRecord
  const maxHeld = 100
  let held = 0
  let taken = 0
  let isInOrder = true
  const records = new HeldRecords(
    { attributes: {} },
    {
      mayHold: () => held < maxHeld,
      onHeld: () => void held++,
      hasRoom: () => false,
      unhold: () => void held--,
      take: ({ time }) => {
        isInOrder &&= time[0] === taken
        taken++
      },
      onReleased: () => {},
    },
  )
  const add = (from: number, to: number) => {
    for (let n = from; n < to; n++) records.add(record(n))
  }
  add(0, 10_000)
  gc()
  const heapBytes = process.memoryUsage().heapUsed
  add(10_000, 1_000_000)
  gc()
  expect(process.memoryUsage().heapUsed - heapBytes).toBeLessThan(1_000_000)
  records.releaseAllNow()
  expect(taken).toBe(1_000_000)
  expect(isInOrder).toBe(true)
})
