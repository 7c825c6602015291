import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { paths, type Summary } from '../../src/dev/protocol.ts'
import { startDev } from '../dev/service.ts'
import { brokenOf, type Figures, noProgress, type Progress } from './figures.ts'
import { SteadyChild } from './steady-child.ts'

const MiB = 1_048_576
const maxRssBytes = 300 * MiB
const probeMs = 50
const queryMs = 2000

export interface DevLoad {
  readonly perSecond: number
  readonly durationMs: number
  /**
   * Longest time of a small request while the service is busy, for 99 of 100 requests. Without it, nothing is asked of
   * the speed of the machine.
   */
  readonly maxIngestMs?: number
}

/**
 * The dev service under load, with an open page and a reader that searches: every event arrives, memory stays bounded,
 * and a small request waits for no scan.
 */
export async function devService(
  { perSecond, durationMs, maxIngestMs }: DevLoad,
  progress: Progress = noProgress,
): Promise<Figures> {
  await using dev = await startDev()
  await using page = await dev.live({ q: 'level:info', group: 'false' })
  const { view } = await page.next('hello')
  let isOver = false
  let frames = 0
  let skipped = 0
  const reading = (async () => {
    while (!isOver) {
      const frame = await page.next('rows').catch(() => undefined)
      if (frame === undefined) break
      frames += 1
      skipped += frame.skipped
    }
  })()
  const options = { baseUrl: dev.url, token: dev.token, dataset: 'd', maxBufferedBytes: 64 * MiB }
  using child = new SteadyChild({ options, perSecond, text: 'x'.repeat(200), flushTimeoutMs: 10_000 })
  const startRssBytes = rssOf(dev.process.pid)
  let peakRssBytes = 0
  let probes = 0
  let queries = 0
  const ingestMs: number[] = []
  const endAtMs = performance.now() + durationMs
  let nextQueryAtMs = performance.now() + queryMs / 2
  while (performance.now() < endAtMs) {
    const startedAtMs = performance.now()
    await dev.ingest([{ level: 'info', message: 'probe' }], 'probe')
    ingestMs.push(performance.now() - startedAtMs)
    probes += 1
    peakRssBytes = Math.max(peakRssBytes, rssOf(dev.process.pid))
    if (performance.now() > nextQueryAtMs) {
      queries += 1
      nextQueryAtMs += queryMs
      await dev.post(paths.view, { view: view.view, q: `level:info n:>${queries}` })
    }
    progress(`${child.logged} events, ${Math.round(peakRssBytes / MiB)} MiB, ${queries} queries`)
    await sleep(probeMs)
  }
  const { stats } = await child.end(30_000)
  const { newest, kept, forgotten } = await dev.get<Summary>(paths.summary)
  isOver = true
  await page[Symbol.asyncDispose]()
  await reading
  const expected = stats.accepted + probes
  const p99 = ingestMs.sort((a, b) => a - b)[Math.floor(ingestMs.length * 0.99)] as number
  const notes = `p99 of a small request ${p99.toFixed(0)} ms, peak RSS ${Math.round(peakRssBytes / MiB)} MiB, ${frames} frames, ${skipped} events not drawn`
  return {
    events: newest,
    lost: expected - newest,
    twice: 0,
    requests: probes,
    rssGrowthBytes: peakRssBytes - startRssBytes,
    notes,
    broken: brokenOf({
      'every event that was logged has arrived': newest === expected && stats.dropped === 0,
      'kept and forgotten add up': kept + forgotten === newest,
      'memory is bounded': peakRssBytes <= maxRssBytes,
      'the page is told of events': frames > 0,
      ...(maxIngestMs !== undefined && {
        [`${perSecond} events/s were taken`]: stats.accepted >= (perSecond * durationMs * 0.6) / 1000,
        'a small request does not wait': p99 <= maxIngestMs,
        'the page is told what it does not draw': skipped > 0,
      }),
    }),
  }
}

function rssOf(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}
