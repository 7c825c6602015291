import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { beforeAbort, deadline, ownDeadline, settlesWithin } from '../src/time-limits.ts'

vi.mock('../src/time.ts', () => import('./support/time-of-globals.ts'))

const never = new Promise<never>(() => {})
const failed = (): Promise<never> => Promise.reject(new Error('it failed'))

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

describe('a deadline', () => {
  it('calls the function once the time is up', async () => {
    const expire = vi.fn()
    deadline(100, expire)
    await vi.advanceTimersByTimeAsync(99)
    expect(expire).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(2)
    expect(expire).toHaveBeenCalledOnce()
  })

  it('does not wait for answers if it leaves no time for them', async () => {
    const expire = vi.fn()
    deadline(0, expire)
    vi.advanceTimersToNextTimer()
    expect(expire).toHaveBeenCalledOnce()
  })

  it('calls nothing once its clock is stopped', async () => {
    const expire = vi.fn()
    deadline(100, expire)()
    await vi.advanceTimersByTimeAsync(2000)
    expect(expire).not.toHaveBeenCalled()
  })

  it('gives answers a second more if the event loop was blocked', async () => {
    const expire = vi.fn()
    let nowMs = 0
    vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
    deadline(100, expire)
    nowMs = 5000
    await vi.advanceTimersByTimeAsync(1000)
    expect(expire).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(101)
    expect(expire).toHaveBeenCalledOnce()
  })
})

describe('an own deadline', () => {
  it('calls the function once, after the time and one look more at most', async () => {
    const expire = vi.fn()
    ownDeadline(200, 2000, expire)
    await vi.advanceTimersByTimeAsync(199)
    expect(expire).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1000)
    expect(expire).toHaveBeenCalledOnce()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('does not count time in which the event loop was late, up to a maximum', async () => {
    const expire = vi.fn()
    let lateMs = 0
    const { now } = performance
    vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + lateMs)
    ownDeadline(200, 2000, expire)
    const late = async (looks: number): Promise<void> => {
      for (let look = 0; look < looks; look++) {
        lateMs += 30
        await vi.advanceTimersByTimeAsync(50)
      }
    }
    await late(20)
    expect(expire).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(250)
    expect(expire).toHaveBeenCalledOnce()
    const expireAtLast = vi.fn()
    ownDeadline(200, 2000, expireAtLast)
    await late(24) // 80 ms each
    expect(expireAtLast).not.toHaveBeenCalled()
    await late(1)
    expect(expireAtLast).toHaveBeenCalledOnce()
  })

  it('calls nothing once its clock is stopped', async () => {
    const expire = vi.fn()
    ownDeadline(100, 2000, expire)()
    await vi.advanceTimersByTimeAsync(2000)
    expect(expire).not.toHaveBeenCalled()
  })
})

describe('work settles within the time', () => {
  it.each([
    ['if it is done', () => Promise.resolve()],
    ['if it has failed', failed],
  ])('%s', async (_, work) => {
    expect(await settlesWithin(work(), 100)).toBe(true)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('but not if it is still going on', async () => {
    const isSettled = settlesWithin(never, 100)
    await vi.advanceTimersByTimeAsync(101)
    expect(await isSettled).toBe(false)
  })
})

describe('a promise before an abort', () => {
  it('settles as it does by itself', async () => {
    const { signal } = new AbortController()
    expect(await beforeAbort(Promise.resolve(1), signal, () => new Error('aborted'))).toBe(1)
    await expect(beforeAbort(failed(), signal, () => new Error('aborted'))).rejects.toThrow('it failed')
  })

  it('rejects with the reason once the signal is aborted, and at once if it was before', async () => {
    const controller = new AbortController()
    const waiting = [1, 2].map(n => beforeAbort(never, controller.signal, () => new Error(`aborted ${n}`)))
    controller.abort()
    await expect(waiting[0]).rejects.toThrow('aborted 1')
    await expect(waiting[1]).rejects.toThrow('aborted 2')
    await expect(beforeAbort(never, controller.signal, () => new Error('too late'))).rejects.toThrow('too late')
  })
})
