/**
 * Replaces `src/time.ts` in a test that fakes the globals, if the fakes must reach the product's timers and clocks:
 *
 *     vi.mock('../src/time.ts', () => import('./support/time-of-globals.ts'))
 */
import type * as time from '../../src/time.ts'

type Time = typeof time

export const setTimeout: Time['setTimeout'] = ((...given: [() => void]) =>
  globalThis.setTimeout(...given)) as Time['setTimeout']
export const clearTimeout: Time['clearTimeout'] = timer => globalThis.clearTimeout(timer)
export const setInterval: Time['setInterval'] = ((...given: [() => void]) =>
  globalThis.setInterval(...given)) as Time['setInterval']
export const clearInterval: Time['clearInterval'] = timer => globalThis.clearInterval(timer)
export const setImmediate: Time['setImmediate'] = ((...given: [() => void]) =>
  globalThis.setImmediate(...given)) as Time['setImmediate']
export const clearImmediate: Time['clearImmediate'] = immediate => globalThis.clearImmediate(immediate)
export const queueMicrotask: Time['queueMicrotask'] = run => globalThis.queueMicrotask(run)
export const monotonicMs: Time['monotonicMs'] = () => performance.now()
export const systemTimeMs: Time['systemTimeMs'] = () => Date.now()
export const abortAfter: Time['abortAfter'] = ms => AbortSignal.timeout(ms)
export const { timeOrigin } = performance
export const maxTimeoutMs: Time['maxTimeoutMs'] = 0x7fffffff
export const SystemDate = Date
export { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
export const onNextTick: Time['onNextTick'] = run => process.nextTick(run)
