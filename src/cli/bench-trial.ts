import { createShipper, type Shipper, type ShipperOptions, type Warning } from '../index.ts'
import { clearInterval, delay, monotonicMs, nextTurn, setInterval } from '../time.ts'

/** The settings of one trial. */
export interface TrialSettings {
  readonly maxBatchBytes: number
  readonly maxConcurrentRequests: number
  readonly events: number
  /** Maximum duration of the trial, including the wait for the last answer, in milliseconds. */
  readonly timeoutMs: number
}

/** The result of one trial. */
export interface Trial {
  readonly maxBatchBytes: number
  readonly maxConcurrentRequests: number
  readonly eventsPerSecond: number
  /** Delivered bytes per second, before compression. */
  readonly bytesPerSecond: number
  /** Average time from the start of a request to its answer, in milliseconds; 0 if there was no request. */
  readonly answerMs: number
  readonly requests: number
  readonly retries: number
  readonly delivered: number
  /** Events that the service refused or did not acknowledge in time. */
  readonly lost: number
  /** Batch size that the service accepts, in bytes, if it refused the size of this trial (status 413). */
  readonly takesBytes: number | undefined
  /** Requests per second that the service allows, if it limits them (status 429 or rate-limit headers). */
  readonly requestsPerSecond: number | undefined
  readonly warnings: readonly Warning[]
}

/** Number of log calls between two turns of the event loop. */
const eventsPerTurn = 250
/** Interval between two samples, in milliseconds: short enough to average the requests in flight. */
const lookEveryMs = 2

/** Ships events as fast as the service accepts them, until all are shipped or the time is up. */
export async function tryOut(
  given: ShipperOptions,
  { maxBatchBytes, maxConcurrentRequests, events, timeoutMs }: TrialSettings,
): Promise<Trial> {
  const maxWaiting = (2 * maxConcurrentRequests + 2) * maxBatchBytes
  const shipper = createShipper({
    ...given,
    maxBatchBytes,
    maxConcurrentRequests,
    // Memory must never run short, because the trial does not measure memory limits.
    maxBufferedBytes: Math.max(8 * maxBatchBytes, 2 * maxWaiting),
    maxBatchAgeMs: 60_000, // batches fill up before they reach this age
    maxRetryDelayMs: 1000,
    exitOnSignals: false, // the events of a trial are not worth a delayed exit
  })
  const seen = watch(shipper)
  const startedAtMs = monotonicMs()
  const leftMs = () => Math.max(0, startedAtMs + timeoutMs - monotonicMs())
  for (let n = 0; n < events && leftMs() > 0 && !seen.isPaused(); ) {
    if (shipper.stats().bufferedBytes > maxWaiting) {
      await delay(lookEveryMs)
      continue
    }
    for (const end = Math.min(n + eventsPerTurn, events); n < end; n += 1) shipper.ship(benchEvent(n))
    await nextTurn()
  }
  if (!seen.isPaused()) await Promise.race([shipper.flush({ timeoutMs: leftMs() }), seen.paused])
  const seconds = (monotonicMs() - startedAtMs) / 1000
  const inFlight = seen.averageInFlight()
  const stats = shipper.stats()
  const warnings = [...seen.warnings]
  await shipper.close({ timeoutMs: 0 })
  return {
    maxBatchBytes,
    maxConcurrentRequests,
    eventsPerSecond: stats.delivered / seconds,
    bytesPerSecond: seen.deliveredBytes() / seconds,
    // Little's law: mean time per request = mean number in flight × duration / number of requests.
    answerMs: stats.requests === 0 ? 0 : (inFlight * seconds * 1000) / stats.requests,
    requests: stats.requests,
    retries: stats.retries,
    delivered: stats.delivered,
    lost: stats.accepted - stats.delivered,
    takesBytes: seen.takesBytes(),
    requestsPerSecond: Number.isFinite(stats.requestsPerSecond) ? stats.requestsPerSecond : undefined,
    warnings,
  }
}

/** Samples the number of requests in flight, and collects warnings, delivered bytes, and sizes of batches. */
function watch(shipper: Shipper) {
  const warnings: Warning[] = []
  const { promise: paused, resolve: pause } = Promise.withResolvers<void>()
  let isPaused = false
  let deliveredBytes = 0
  shipper.on('warning', warning => {
    warnings.push(warning)
    if (warning.code !== 'LOGFERRY_PAUSED') return
    isPaused = true
    pause()
  })
  shipper.on('delivered', ({ bytes }) => {
    deliveredBytes += bytes
  })
  let maxTakenBytes = 0
  let minRefusedBytes = Number.POSITIVE_INFINITY
  shipper.on('attempted', ({ bytes, status, errorType }) => {
    if (status === 413) minRefusedBytes = Math.min(minRefusedBytes, bytes)
    else if (errorType === undefined) maxTakenBytes = Math.max(maxTakenBytes, bytes)
  })
  let looks = 0
  let sum = 0
  const timer = setInterval(() => {
    looks += 1
    sum += shipper.stats().requestsInFlight
  }, lookEveryMs)
  return {
    warnings,
    paused,
    isPaused: () => isPaused,
    deliveredBytes: () => deliveredBytes,
    /** Returns the size of the largest batch that was taken, if a batch was refused as too large. */
    takesBytes: () =>
      minRefusedBytes < Number.POSITIVE_INFINITY ? Math.min(maxTakenBytes, minRefusedBytes) : undefined,
    /** Stops sampling, and returns the average number of requests in flight. */
    averageInFlight() {
      clearInterval(timer)
      return looks === 0 ? 0 : sum / looks
    },
  }
}

/** Returns an event of ordinary size: about 500 bytes as it is sent, with 12 root fields, some of them nested. */
export function benchEvent(n: number): Record<string, unknown> {
  return {
    level: 'info',
    message: 'logferry bench',
    n,
    service: 'checkout',
    host: 'ip-10-0-4-17.eu-central-1',
    version: '4.18.2',
    durationMs: (n % 997) / 8,
    tags: ['web', 'orders'],
    request: { id: requestId(n), method: 'POST', path: '/api/v1/orders', status: 201 },
    user: { id: 100_000 + (n % 5000), plan: 'team', country: 'BE', session: requestId(n >> 3) },
    order: { total: (n % 10_000) / 100, currency: 'EUR', items: [{ sku: 'A-1042', quantity: 2 + (n % 3) }] },
    isRetry: n % 16 === 0,
  }
}

/** Returns digits that a compressor cannot predict. */
function requestId(n: number): string {
  const digits = (factor: number) => ((Math.imul(n + 1, factor) >>> 0) + 2 ** 32).toString(16).slice(1)
  return digits(0x9e3779b1) + digits(0x85ebca6b)
}
