/**
 * The laws that hold for a shipper at every moment (the first lines of every scenario), checked from outside: the
 * logged events and the calls of listeners are compared with the shipper's statistics. Tests use this module, and other
 * programs too.
 */
import assert from 'node:assert/strict'
import {
  createShipper,
  type Dropped,
  type FlushResult,
  type Rejected,
  type Shipper,
  type ShipperOptions,
  type ShipperStats,
  type Warning,
} from '../../src/index.ts'
import { until } from './until.ts'

/** A shipper that is checked against the laws: at every step of its own, every 20 ms, and on demand. */
export interface Watched extends AsyncDisposable {
  readonly shipper: Shipper
  readonly warnings: readonly Warning[]
  readonly rejections: readonly Rejected[]
  readonly drops: readonly Dropped[]
  /** Maximum of `bufferedBytes` so far. */
  readonly peakBufferedBytes: number
  /** Logs the events with the numbers from `from` to before `to`. Returns the number of kept events. */
  log(from: number, to?: number, fields?: Readonly<Record<string, unknown>>): number
  /** Notes that so many events were logged in another way, in this tick. */
  alsoLogged(count: number): void
  /** Returns the statistics. Fails if they break a law. */
  stats(): ShipperStats
  /** Resolves to the first warning. */
  whenWarned(): Promise<Warning>
  /** Flushes or closes the shipper, and compares the result with the statistics. */
  flush(timeoutMs?: number): Promise<FlushResult>
  close(timeoutMs?: number): Promise<FlushResult>
}

export const maxBufferedBytes = 64 * 1_048_576

/** Creates a shipper to dataset `d`. The next call of any of its methods reports a law that was broken meanwhile. */
export function watched(options: ShipperOptions): Watched {
  const given: ShipperOptions = { token: 'a-token-of-tests', dataset: 'd', maxBufferedBytes, ...options }
  const shipper = createShipper(given)
  const most = given.maxBufferedBytes as number
  const warnings: Warning[] = []
  const rejections: Rejected[] = []
  const drops: Dropped[] = []
  let logged = 0
  let delivered = 0
  let dropped = 0
  let peakBufferedBytes = 0
  let broken: unknown

  const stats = (): ShipperStats => {
    if (broken !== undefined) throw broken
    const now = shipper.stats()
    peakBufferedBytes = Math.max(peakBufferedBytes, now.bufferedBytes)
    const byReason = Object.values(now.drops).flatMap(bySeverity => Object.values(bySeverity))
    const isShort = now.drops.memory !== undefined // the shipper then adds events that report the drops
    assert.ok(now.accepted === logged || (isShort && now.accepted > logged), `accepted ${now.accepted} of ${logged}`)
    assert.equal(now.delivered, delivered, 'delivered, as its listeners heard')
    assert.equal(now.dropped, dropped, 'dropped, as its listeners heard')
    assert.equal(sum(byReason), dropped, 'dropped, by reason')
    assert.equal(now.pending, now.accepted - delivered - dropped, 'accepted = delivered + dropped + pending')
    assert.ok(now.pending >= 0, `pending ${now.pending}`)
    assert.ok(now.bufferedBytes >= 0 && now.bufferedBytes <= most, `${now.bufferedBytes} bytes buffered of ${most}`)
    return now
  }
  /** Keeps the error of a check that no caller would see. */
  const hold = (law: () => unknown): void => {
    try {
      law()
    } catch (error) {
      broken ??= error
    }
  }
  const settled = (result: FlushResult): FlushResult => {
    const { pending, bufferedBytes } = stats()
    assert.equal(result.pending, pending, 'pending, as flush or close says')
    if (pending === 0) assert.equal(bufferedBytes, 0, 'nothing is pending, and memory is held')
    return result
  }

  const clock = setInterval(hold, 20, stats)
  clock.unref()
  shipper.on('warning', warning => warnings.push(warning))
  shipper.on('rejected', rejected => rejections.push(rejected))
  shipper.on('delivered', ({ count }) => {
    delivered += count
  })
  shipper.on('dropped', notice => {
    drops.push(notice)
    hold(() => assert.equal(sum(Object.values(notice.bySeverity)), notice.count, 'dropped, by severity'))
    dropped += notice.count
  })
  const close = async (timeoutMs?: number): Promise<FlushResult> => {
    const result = await shipper.close({ timeoutMs })
    clearInterval(clock)
    return settled(result)
  }
  return {
    shipper,
    warnings,
    rejections,
    drops,
    get peakBufferedBytes() {
      return peakBufferedBytes
    },
    log(from, to = from + 1, fields = {}) {
      let kept = 0
      for (let n = from; n < to; n++) {
        logged++
        if (shipper.ship({ level: 'info', n, ...fields })) kept++
      }
      hold(stats)
      return kept
    },
    alsoLogged(count) {
      logged += count
    },
    stats,
    async whenWarned() {
      await until(() => warnings.length > 0, 'a warning')
      return warnings[0] as Warning
    },
    flush: async timeoutMs => settled(await shipper.flush({ timeoutMs })),
    close,
    async [Symbol.asyncDispose]() {
      await close(0)
    },
  }
}

/** The arrivals of the events with the numbers from 0 to before `count`. */
export interface Tally {
  /** Numbers that did not arrive. */
  readonly lost: number
  /** Number of arrivals beyond the first of each number. */
  readonly twice: number
}

export const allOnce: Tally = { lost: 0, twice: 0 }

export function tally(numbers: Iterable<number>, count: number): Tally {
  const times = new Uint32Array(count)
  for (const n of numbers) {
    assert.ok(n < count, `number ${n} was never logged`)
    times[n] = (times[n] as number) + 1
  }
  let lost = 0
  let twice = 0
  for (const seen of times) {
    if (seen === 0) lost++
    else twice += seen - 1
  }
  return { lost, twice }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
