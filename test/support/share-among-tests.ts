import { afterAll, beforeEach } from 'vitest'

/**
 * Starts what the tests of a `describe` share, before the first of them, and anew before each test that is tried again:
 * what the first try has left behind could make the others fail.
 */
export function shareAmongTests(start: () => Promise<AsyncDisposable>): void {
  let shared: AsyncDisposable | undefined
  const end = async () => {
    const ended = shared
    shared = undefined
    await ended?.[Symbol.asyncDispose]()
  }
  let last: string | undefined
  beforeEach(async ({ task }) => {
    if (task.id === last) await end()
    last = task.id
    shared ??= await start()
  })
  afterAll(end)
}
