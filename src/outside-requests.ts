import { builtinModule } from './node-version.ts'

const { AsyncResource } = builtinModule('node:async_hooks')

/** The context in which this package was loaded. */
const loading = new AsyncResource('logferry', { requireManualDestroy: true })
loading.emitDestroy() // it holds nothing open: otherwise Jest reports it with `--detectOpenHandles`

/**
 * Calls a function outside of the requests that the application serves: an `AsyncLocalStorage` has the store there that
 * it had when this package was loaded, usually none.
 *
 * A log call may start a timer, and so a request to the service, a connection and calls of listeners. In the context of
 * that log call, they would keep its store in memory as long as they live. What a listener logs would have the ids of a
 * request that is long over. Monitoring agents would count the requests to the service as a part of that request.
 */
export function outsideRequests<A extends unknown[], R>(run: (...given: A) => R, ...given: A): R {
  return loading.runInAsyncScope(run, undefined, ...given)
}
