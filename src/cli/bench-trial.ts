import { createShipper, type Shipper, type ShipperOptions, type Warning } from '../index.ts'
import { clearInterval, delay, monotonicMs, nextTurn, setInterval } from '../time.ts'

/** What is tried. */
export interface TrialSettings {
  readonly maxBatchBytes: number
  readonly maxConcurrentRequests: number
  readonly events: number
  /** Longest time, the wait for the last answer included, in milliseconds. */
  readonly timeoutMs: number
}

/** What came of it. */
export interface Trial {
  readonly maxBatchBytes: number
  readonly maxConcurrentRequests: number
  readonly eventsPerSecond: number
  /** Bytes of events before compression, per second. */
  readonly bytesPerSecond: number
  /** Average time from the start of a request to its answer, in milliseconds; 0 when there was no request. */
  readonly answerMs: number
  readonly requests: number
  readonly retries: number
  readonly delivered: number
  /** Events that the service refused, or did not answer for in time. */
  readonly lost: number
  /** What the service takes, in bytes, where that was less than was tried (status 413). */
  readonly takesBytes: number | undefined
  /** What the service was found to allow, where it limits requests (status 429, headers). */
  readonly requestsPerSecond: number | undefined
  readonly warnings: readonly Warning[]
}

/** Log calls between two turns of the event loop. */
const eventsPerTurn = 250
/** Often enough for an average of what is in flight. */
const lookEveryMs = 2

/** Ships events as fast as they are delivered, for as long as allowed. */
export async function tryOut(
  given: ShipperOptions,
  { maxBatchBytes, maxConcurrentRequests, events, timeoutMs }: TrialSettings,
): Promise<Trial> {
  const maxWaiting = (2 * maxConcurrentRequests + 2) * maxBatchBytes
  const shipper = createShipper({
    ...given,
    maxBatchBytes,
    maxConcurrentRequests,
    // Never short of memory, as that is not what is measured.
    maxBufferedBytes: Math.max(8 * maxBatchBytes, 2 * maxWaiting),
    maxBatchAgeMs: 60_000, // batches are full
    maxRetryDelayMs: 1000,
    exitOnSignals: false, // events of the trial are worth no waiting
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
    // Little's law: so many under way on average, so many done in the time.
    answerMs: stats.requests === 0 ? 0 : (inFlight * seconds * 1000) / stats.requests,
    requests: stats.requests,
    retries: stats.retries,
    delivered: stats.delivered,
    lost: stats.accepted - stats.delivered,
    takesBytes: seen.minBatchBytes() < maxBatchBytes ? seen.minBatchBytes() : undefined,
    requestsPerSecond: Number.isFinite(stats.requestsPerSecond) ? stats.requestsPerSecond : undefined,
    warnings,
  }
}

/** Averages what is in flight, and collects what is reported. */
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
  let looks = 0
  let sum = 0
  let minBatchBytes = Number.POSITIVE_INFINITY
  const timer = setInterval(() => {
    const { requestsInFlight, maxBatchBytes } = shipper.stats()
    looks += 1
    sum += requestsInFlight
    minBatchBytes = Math.min(minBatchBytes, maxBatchBytes)
  }, lookEveryMs)
  return {
    warnings,
    paused,
    isPaused: () => isPaused,
    deliveredBytes: () => deliveredBytes,
    /** What the service took after a 413: larger batches are tried again a second later, which says nothing of them. */
    minBatchBytes: () => minBatchBytes,
    /** Stops watching. */
    averageInFlight() {
      clearInterval(timer)
      return looks === 0 ? 0 : sum / looks
    },
  }
}

/** An event of an ordinary size: about 500 bytes as it is sent, 12 fields, some of them nested. */
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

/** Digits that no compression foresees. */
function requestId(n: number): string {
  const digits = (factor: number) => ((Math.imul(n + 1, factor) >>> 0) + 2 ** 32).toString(16).slice(1)
  return digits(0x9e3779b1) + digits(0x85ebca6b)
}
