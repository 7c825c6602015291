import { setTimeout as sleep } from 'node:timers/promises'
import type { CDPSession, Page } from 'playwright-core'
import { paths, type Summary } from '../../src/dev/protocol.ts'
import { startDev } from '../dev/service.ts'
import { openTab, startBrowser } from '../page/browser.ts'
import { brokenOf, type Figures, noProgress, type Progress } from './figures.ts'
import { SteadyChild } from './steady-child.ts'

const MiB = 1_048_576
const maxHeapGrowthBytes = 10 * MiB
const maxHeapBytes = 60 * MiB
const warmUpMs = 3000
const keyMs = 250

export interface PageLoad {
  readonly perSecond: number
  readonly durationMs: number
  /** Maximum time from a key press to the paint that shows it, for 99 of 100 presses. */
  readonly maxKeyMs: number
}

/** Measures each key press until it is painted, and each task that holds up the page. */
const measuring = `
  globalThis.measured = { keys: [], longestTaskMs: 0 }
  new PerformanceObserver(list => {
    for (const { name, duration } of list.getEntries()) if (name === 'keydown') measured.keys.push(duration)
  }).observe({ type: 'event', durationThreshold: 16, buffered: true })
  new PerformanceObserver(list => {
    for (const { duration } of list.getEntries()) measured.longestTaskMs = Math.max(measured.longestTaskMs, duration)
  }).observe({ type: 'longtask' })
`

/**
 * The page while events arrive as fast as they can be logged: a list that was scrolled stands still to the pixel, a key
 * is answered at once, memory does not grow, and what was logged before the flood is still found.
 */
export async function devPage(
  { perSecond, durationMs, maxKeyMs }: PageLoad,
  progress: Progress = noProgress,
): Promise<Figures> {
  await using dev = await startDev()
  await dev.ingest([{ level: 'error', message: 'before the flood' }], 'early')
  const browser = await startBrowser()
  try {
    await using following = await openTab(browser, dev, 'events')
    await using pinned = await openTab(browser, dev, 'events?group=0')
    const options = { baseUrl: dev.url, token: dev.token, dataset: 'd', maxBufferedBytes: 64 * MiB }
    using child = new SteadyChild({ options, perSecond, text: 'x'.repeat(200), flushTimeoutMs: 10_000 })
    await pinned.page.locator('.row:visible').nth(20).waitFor()
    await pinned.page.locator('#list').hover()
    await pinned.page.mouse.wheel(0, 4000)
    await pinned.page.getByText('Holding').waitFor()
    await sleep(warmUpMs)
    const before = await rowsOf(pinned.page)
    const session = await following.context.newCDPSession(following.page)
    const startHeapBytes = await heapOf(session)
    await following.page.evaluate(measuring)
    let presses = 0
    let maxHeap = 0
    const endAtMs = performance.now() + durationMs
    while (performance.now() < endAtMs) {
      for (const key of ['j', 'j', 'k', '.', 'Shift+?', 'Escape', '2', '1']) {
        await following.page.keyboard.press(key)
        presses += 1
        await sleep(keyMs)
      }
      maxHeap = Math.max(maxHeap, await heapOf(session))
      progress(`${child.logged} events, ${presses} keys, ${Math.round(maxHeap / MiB)} MiB of page memory`)
    }
    const measured = (await following.page.evaluate('measured')) as { keys: number[]; longestTaskMs: number }
    const endHeapBytes = await heapOf(session)
    const after = await rowsOf(pinned.page)
    const { stats } = await child.end(30_000)
    const { newest, kept, forgotten } = await dev.get<Summary>(paths.summary)
    await following.search('level:error "before the flood"')
    const isFound = await following.page
      .locator('.row:visible .text', { hasText: 'before the flood' })
      .waitFor()
      .then(() => true)
      .catch(() => false)
    // The browser tells only of presses that took 16 ms or more; the others count as less.
    const slowest = measured.keys.sort((one, other) => other - one)
    const p99 = slowest[Math.floor(presses * 0.01)] ?? 16
    const growth = endHeapBytes - startHeapBytes
    return {
      events: newest,
      lost: stats.accepted + 1 - newest,
      twice: 0,
      requests: stats.requests,
      rssGrowthBytes: growth,
      notes: `p99 of a key press ${p99} ms of ${presses}, longest task ${Math.round(measured.longestTaskMs)} ms, page memory ${Math.round(endHeapBytes / MiB)} MiB`,
      broken: brokenOf({
        'a list that was scrolled stands still to the pixel': before === after && before !== '',
        'a key press is painted in time': p99 <= maxKeyMs,
        'page memory does not grow': growth <= maxHeapGrowthBytes,
        'page memory is bounded': maxHeap <= maxHeapBytes,
        'an error from before the flood is found': isFound,
        'kept and forgotten add up': kept + forgotten === newest,
        'every event that was logged has arrived': stats.accepted + 1 === newest && stats.dropped === 0,
        'the browser has nothing to complain of': following.complaints.length + pinned.complaints.length === 0,
      }),
    }
  } finally {
    await browser.close()
  }
}

/** What the rows on the screen say, and where each of them is. */
async function rowsOf(page: Page): Promise<string> {
  const rows = await page
    .locator('.row:visible')
    .evaluateAll(all => all.map(row => [row.getBoundingClientRect().top, row.textContent]))
  return JSON.stringify(rows)
}

/** Memory of the page that is in use after a collection, in bytes. */
async function heapOf(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  return usedSize
}
