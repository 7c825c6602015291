import { reserveStack } from '../../src/stack-reserve.ts'

/** Calls `reach` in the last frame of a recursion that leaves so much of the stack. */
export function inLastFrameWith(bytes: number, reach: () => void): void {
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
