/** Programs that are run as users run them: by Node, with nothing of the benchmarks in the process. */

/** Prints how long `specifier` took to be imported, in milliseconds, after `before` was. */
export function importScript(specifier: string, before?: string): string {
  return `${before === undefined ? '' : `await import('${before}')\n`}
const startedAtMs = performance.now()
await import('${specifier}')
console.log(JSON.stringify({ importMs: performance.now() - startedAtMs }))`
}

/** Prints how many files were loaded for it, Node's own modules not counted. */
export function modulesScript(specifier: string, before?: string): string {
  return `import { registerHooks } from 'node:module'
const loaded = new Set()
registerHooks({
  load(url, context, next) {
    if (url.startsWith('file:')) loaded.add(url)
    return next(url, context)
  },
})
${before === undefined ? '' : `await import('${before}')\n`}
const before = loaded.size
await import('${specifier}')
console.log(JSON.stringify({ modules: loaded.size - before }))`
}

/** Ten log calls, and the natural end. */
export function tenCallsScript(makeTransport: string): string {
  return `import winston from 'winston'
${makeTransport}
const logger = winston.createLogger({ format: { transform: info => info }, transports: [transport] })
for (let n = 0; n < 10; n += 1) logger.info('order placed', { 'n#': n, order: { id: 42, total: 99.5 } })`
}

export const noOpTransport = `import TransportStream from 'winston-transport'
class NoOpTransport extends TransportStream {
  log(info, callback) {
    callback()
  }
}
const transport = new NoOpTransport()`

export const logferryTransport = `import { LogferryTransport } from 'logferry/winston'
const transport = new LogferryTransport()`

/**
 * One event, delivered at once. Prints how long that took from the start of the process and from the log call, and the
 * longest turn of the event loop from then on.
 */
export const firstDeliveryScript = `import { readFileSync } from 'node:fs'
import winston from 'winston'
${logferryTransport}
const logger = winston.createLogger({ format: { transform: info => info }, transports: [transport] })
await new Promise(resolve => setTimeout(resolve, 50)) // what importing left to be done
// What the thread waited for a processor is not its own doing.
const waitedMs = () => {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ', 2)[1]) / 1e6
  } catch {
    return 0 // not Linux
  }
}
let longestTurnMs = 0
let lastWaitedMs = waitedMs()
let isDelivered = false
let lastMs = performance.now()
const turn = () => {
  const nowMs = performance.now()
  if (nowMs - lastMs > 1) {
    const nowWaitedMs = waitedMs()
    longestTurnMs = Math.max(longestTurnMs, nowMs - lastMs - (nowWaitedMs - lastWaitedMs))
    lastWaitedMs = nowWaitedMs
  }
  lastMs = performance.now()
  if (!isDelivered) setImmediate(turn)
}
setImmediate(turn)
const calledAtMs = performance.now()
logger.info('order placed', { 'n#': 0 })
await transport.shipper.flush()
const deliveryMs = performance.now() - calledAtMs
await new Promise(setImmediate)
isDelivered = true
console.log(JSON.stringify({ deliveryMs, longestTurnMs }))`
