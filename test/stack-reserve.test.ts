import { expect, it } from 'vitest'
import { openBatchBytes } from '../src/stack-reserve.ts'
import { inLastFrameWith } from './support/in-last-frame.ts'

it('leaves room to call a listener for the first time, which compiles it', () => {
  for (let run = 0; run < 10; run++) {
    const listener = new Function('drop', `const { reason, count } = drop; return reason + count + ${run}`)
    let told: unknown
    inLastFrameWith(openBatchBytes, () => {
      told = listener({ reason: 'error', count: 1 })
    })
    expect(told).toBe(`error1${run}`)
  }
})
