import { builtinModule } from './options/node-version.ts'

/**
 * Timers and clocks as Node made them. An application's tests put fakes in their place (Jest, Sinon, Vitest, node:test), and
 * delivery is no subject of such a test: on a clock that stands still or jumps, a batch would be sent again and again, and a
 * flush would never end. So no other module uses the globals. The one time that follows the application's clock is the time
 * stamp of an event: `record/clock.ts`.
 *
 * The timers are taken from Node's modules: a test may have faked the globals before this module is loaded.
 */
const { performance } = builtinModule('node:perf_hooks')

export const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate } =
  builtinModule('node:timers')

/** As `setTimeout` of `node:timers/promises`. */
export const { setTimeout: delay, setImmediate: nextTurn } = builtinModule('node:timers/promises')

/** Milliseconds since the process started: never set back, and counted on while the machine's time is corrected. */
export const monotonicMs: () => number = performance.now.bind(performance)

/** When the process started, in milliseconds since 1970. */
export const { timeOrigin } = performance

/** `Date` as it was when this module was loaded. */
export const SystemDate: DateConstructor = Date

/** The machine's time, in milliseconds since 1970. */
export const { now: systemTimeMs } = Date

/** As `AbortSignal.timeout`. */
export const abortAfter: (ms: number) => AbortSignal = AbortSignal.timeout.bind(AbortSignal)

const settled = Promise.resolve()

/** As the global, which Node's modules do not have. */
export function queueMicrotask(run: () => void): void {
  void settled.then(run)
}
