import { expect, it } from 'vitest'
import { openBatchBytes, reserveStack } from '../src/stack-reserve.ts'

/** Calls `reach` in the last frame of a recursion that leaves so much of the stack. */
function inLastFrameWith(bytes: number, reach: () => void): void {
  let isReached = false
  const descend = (): void => {
    reserveStack(bytes)
    try {
      descend()
    } catch {
      // The stack had the reserve in this frame, and not in the frame below.
    }
    if (isReached) return
    isReached = true
    reach()
  }
  descend()
}

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
