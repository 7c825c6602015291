import { NativePromise } from './native-promise.ts'
import { builtinModule } from './node-version.ts'
import { outsideRequests } from './outside-requests.ts'

/**
 * Node's own timers and clocks. Test frameworks (Jest, Sinon, Vitest, node:test) replace the globals with fakes.
 * Delivery must not follow a fake clock. If the clock stood still or jumped, a batch would be sent again and again, and
 * a flush would never end. Therefore no other module uses the globals. Only the timestamp of an event follows the
 * application's clock: see `record/clock.ts`.
 *
 * The timers come from Node's modules, because a test may have replaced the globals before this module is loaded.
 */
const { performance } = builtinModule('node:perf_hooks')

const timers = builtinModule('node:timers')

export const { clearTimeout, clearInterval, setImmediate, clearImmediate } = timers

/** Timers wait for long, unlike immediates, and so would keep the context of the code that sets them. */
export const setTimeout = runsOutside(timers.setTimeout)
export const setInterval = runsOutside(timers.setInterval)

/** Returns a function that sets a timer whose callback runs outside of all requests, wherever the timer was set. */
function runsOutside<Start extends (...given: never[]) => unknown>(start: Start): Start {
  return ((...given: never[]) => outsideRequests(start, ...given)) as Start
}

/** The longest delay of a timer, in milliseconds: 2^31 - 1. */
export const maxTimeoutMs = 0x7fffffff

/** The promise versions of both timers, from `node:timers/promises`. */
export const { setTimeout: delay, setImmediate: nextTurn } = builtinModule('node:timers/promises')

/** Milliseconds since the process started. The clock never goes back, and ignores corrections of the machine's time. */
export const monotonicMs: () => number = performance.now.bind(performance)

/** The start of the process, in milliseconds since 1970. */
export const { timeOrigin } = performance

/** `Date` as it was when this module was loaded. */
export const SystemDate: DateConstructor = Date

/** The machine's time, in milliseconds since 1970. */
export const { now: systemTimeMs } = Date

/** `AbortSignal.timeout` as it was when this module was loaded. */
export const abortAfter: (ms: number) => AbortSignal = AbortSignal.timeout.bind(AbortSignal)

const settled = NativePromise.resolve()

/** Calls the function before the event loop goes on. */
export const onNextTick: (run: () => void) => void = process.nextTick.bind(process)

/** The same as the global, which no module of Node exports. */
export function queueMicrotask(run: () => void): void {
  void settled.then(run)
}
