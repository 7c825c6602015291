/** The page while events stream in: it never loses its place, and says what it has missed. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { paths, type ViewState } from '../../src/dev/protocol.ts'
import { type Dev, startDev } from '../dev/service.ts'
import { eventually, openTab, startBrowser, type Tab } from './browser.ts'
import { startCuttableProxy } from './cuttable-proxy.ts'

let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser?.close())

function numbered(count: number, level = 'info'): object[] {
  return Array.from({ length: count }, (_, n) => ({ level, message: `event ${n} ${level}`, n }))
}

describe('a list', () => {
  let dev: Dev
  let tab: Tab
  beforeEach(async () => {
    dev = await startDev()
    await dev.ingest(numbered(1000))
    tab = await openTab(browser, dev, 'events?group=0')
    await tab.page.getByText(/^Live/).waitFor()
  })
  afterEach(async () => {
    await tab?.[Symbol.asyncDispose]()
    await dev?.[Symbol.asyncDispose]()
  })

  /** Sends 1,005 events: 200 errors, five events from an hour ago, and 800 others. */
  async function sendLateAndOthers(): Promise<void> {
    const late = new Date(Date.now() - 3_600_000).toISOString()
    for (let round = 0; round < 5; round++) {
      await dev.ingest(numbered(200, round === 2 ? 'error' : 'debug'))
      await dev.ingest([{ _time: late, level: 'warn', message: 'from an hour ago' }])
    }
  }

  it('follows the newest events', async () => {
    await dev.ingest([{ level: 'info', message: 'newest' }])
    await tab.shows('newest', 'event 999 info')
    await tab.page.getByText(/^Live/).waitFor()
  })

  it('keeps the values of a column that is chosen while a row is held under the pointer', async () => {
    const { page } = tab
    await page.locator('.row:visible .text', { hasText: 'event 999 info' }).hover()
    await dev.ingest([{ level: 'info', message: 'newest', n: 1000 }])
    await page.getByText('View', { exact: true }).click()
    await page.getByRole('checkbox', { name: 'n', exact: true }).click()
    await page.getByRole('gridcell', { name: '999', exact: true }).waitFor()
    await sleep(3000)
    await tab.shows('newest', 'event 999 info')
    expect(await page.getByRole('gridcell', { name: '999', exact: true }).count()).toBe(1)
  })

  it('that was scrolled keeps each row at its pixel while events arrive, late ones too', async () => {
    const { page } = tab
    const list = page.locator('#list')
    await list.hover()
    await page.mouse.wheel(0, 9000)
    const row = page.locator('.row:visible', { hasText: /event 6[45]\d info/ }).first()
    await row.waitFor()
    const text = String(await row.locator('.text').textContent())
    const same = page.locator('.row:visible', { hasText: text })
    const before = await same.boundingBox()
    await sendLateAndOthers()
    await page.getByText(/1,005 new, 200 errors/).waitFor()
    await page.getByText('5 late events inserted').waitFor()
    expect(await same.boundingBox()).toEqual(before)
    expect(await list.evaluate(element => element.scrollTop)).toBe(9000)
    await page.getByRole('button', { name: /^Follow/ }).click()
    await tab.shows('event 199 debug')
    await page.getByText(/^Live/).waitFor()
  })

  it('reads every row by its rank, to the last one', async () => {
    const { page } = tab
    await page.locator('#list').hover()
    await page.mouse.wheel(0, 9000)
    await page.getByText('Holding').waitFor()
    await sendLateAndOthers()
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    await tab.hasQuery('is:late')
    await eventually(() => tab.messages()).toHaveLength(5)
    await tab.search('event -debug -error')
    await page.getByText('1,000 of 2,005 match').waitFor()
    await page.locator('#list[aria-rowcount="1001"]').waitFor() // the count may be shown before the last rows
    await tab.press('G')
    await eventually(() => tab.messages()).toContain('event 0 info')
    await tab.press('k', 'k')
    await eventually(() => page.locator('.row[aria-selected=true] .text').textContent()).toBe('event 2 info')
    await tab.search('')
    await tab.shows('event 199 debug')
  })

  it('keeps the last 20 events that were opened, and asks for the others again', async () => {
    const { page, requests } = tab
    await tab.search('event info')
    const title = page.getByRole('complementary', { name: 'Event' }).getByRole('heading')
    const walk = async (key: string, from: number, to: number) => {
      const step = from < to ? 1 : -1
      for (let n = from; n !== to + step; n += step) {
        await tab.press(key)
        await eventually(() => title.textContent()).toBe(`event ${n} info`)
      }
    }
    await tab.shows('event 999 info')
    await tab.press('j', 'Enter')
    await eventually(() => title.textContent()).toBe('event 999 info')
    await walk('j', 998, 979)
    const first = requests.length
    await walk('k', 980, 998)
    expect(requests.slice(first).filter(url => url.includes(`${paths.event}?`))).toEqual([])
    await walk('k', 999, 999)
    expect(requests.slice(first).filter(url => url.includes(`${paths.event}?`))).toHaveLength(1)
  })

  it('that is paused counts what arrives, survives scrolling to the top, and resumes', async () => {
    const { page } = tab
    await tab.press('Space')
    await page.getByText('Paused', { exact: false }).first().waitFor()
    await dev.ingest([{ level: 'error', message: 'behind the pause' }])
    await page.getByText(/1 new, 1 error/).waitFor()
    await page.locator('#list').hover()
    await page.mouse.wheel(0, 500)
    await page.mouse.wheel(0, -900)
    await eventually(() => page.locator('#list').evaluate(element => element.scrollTop)).toBe(0)
    expect(await tab.messages()).not.toContain('behind the pause')
    await page.getByRole('button', { name: 'Resume' }).first().click()
    await tab.shows('behind the pause')
  })

  it('follows again when it is scrolled back to its top', async () => {
    const { page } = tab
    await page.locator('#list').hover()
    await page.mouse.wheel(0, 2000)
    await page.getByText('Holding').waitFor()
    await dev.ingest([{ level: 'info', message: 'meanwhile' }])
    await page.mouse.wheel(0, -4000)
    await tab.shows('meanwhile')
  })

  it('stands still under a pointer that moves, so that no click hits another row', async () => {
    const { page } = tab
    await page.locator('#list').hover({ position: { x: 300, y: 100 } })
    const before = await tab.messages()
    const counted = await page.locator('.match-count').textContent()
    await dev.ingest([{ level: 'info', message: 'under the pointer' }])
    let x = 500
    await eventually(async () => {
      await page.mouse.move(x++, 400)
      return page.locator('.match-count').textContent()
    }).not.toBe(counted)
    expect(await tab.messages()).toEqual(before)
    await tab.shows('under the pointer')
  })

  it('stands still under a pointer for seconds only, although the clock is set back meanwhile', async () => {
    const { page } = tab
    await page.locator('#list').hover({ position: { x: 300, y: 100 } })
    await page.evaluate('{ const { now } = Date; Date.now = () => now() - 3_600_000 }')
    await dev.ingest([{ level: 'info', message: 'under the pointer' }])
    await tab.shows('under the pointer')
  })

  it('tells what is new after a mark', async () => {
    const { page } = tab
    await tab.press('m')
    await dev.ingest([{ level: 'info', message: 'after the mark' }])
    await page.locator('.row.below-mark').waitFor()
    await tab.search('is:new')
    await tab.shows('after the mark')
    await eventually(() => tab.messages()).toHaveLength(1)
    await tab.search('')
  })

  it('joins repeats to one row, and takes them apart', async () => {
    const { page } = tab
    await dev.ingest(Array.from({ length: 30 }, () => ({ level: 'warn', message: 'again and again' })))
    await tab.shows('again and again', 'again and again')
    await tab.press('r')
    await page.getByText('×30').waitFor()
    await tab.press('r')
    await tab.shows('again and again', 'again and again')
  })

  it('keeps the newer rows of its stream if the answer to another query comes after them', async () => {
    const { page } = tab
    const answered = page.waitForResponse(`**${paths.view}`)
    await page.route(`**${paths.view}`, async route => {
      const answer = await route.fetch()
      await dev.ingest([{ level: 'info', message: 'before the answer' }])
      await tab.shows('before the answer')
      await route.fulfill({ response: answer })
    })
    await tab.search('level:info')
    await (await answered).finished()
    await page.unrouteAll({ behavior: 'wait' })
    await page.evaluate('new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
    expect((await tab.messages())[0]).toBe('before the answer')
    await tab.shows('before the answer')
  })

  it('keeps the matches of its stream if an answer from the middle of the search comes after them', async () => {
    const { page } = tab
    // The list has other rows before the search, so that its count tells when the stream has brought all matches.
    await dev.ingest(numbered(5, 'debug'))
    await page.locator('#list[aria-rowcount="1006"]').waitFor()
    const answered = page.waitForResponse(`**${paths.view}`)
    await page.route(`**${paths.view}`, async route => {
      const response = await route.fetch()
      const { rows, ...state } = (await response.json()) as ViewState
      await page.locator('#list[aria-rowcount="1001"]').waitFor()
      const early = { ...state, rows: rows.slice(0, 20), matched: 20, matchedEvents: 20, complete: false }
      await route.fulfill({ response, json: early })
    })
    await tab.search('event -debug -error')
    await (await answered).finished()
    await page.unrouteAll({ behavior: 'wait' })
    await page.evaluate('new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
    expect(await page.locator('#list').getAttribute('aria-rowcount')).toBe('1001')
  })

  it('is deleted on the service only after a question', async () => {
    const { page } = tab
    await page.getByText('View', { exact: true }).click()
    await page.getByRole('button', { name: /^Delete all events/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No event has arrived yet.').waitFor()
    await dev.ingest([{ level: 'info', message: 'first of the rest' }])
    await tab.shows('first of the rest')
    expect(tab.complaints).toEqual([])
  })
})

/** Each of these tests has a service and a tab of its own. */
it('a list that is longer than a browser has room for says so, and its cursor stays on the screen', async () => {
  await using dev = await startDev(['--max-events', '260000', '--max-bytes', '512MiB'])
  for (let round = 0; round < 26; round++) await dev.ingest(numbered(10_000))
  await using tab = await openTab(browser, dev, 'events?group=0&rows=3')
  await tab.page.getByText('1,936 older rows have no room here').waitFor()
  await tab.press('j', 'G')
  const selected = tab.page.locator('.row[aria-selected="true"]:visible', { hasText: 'event' })
  await eventually(() => selected.getAttribute('aria-rowindex')).toBe('258065')
})

describe.concurrent('trouble', () => {
  it('with a slow answer does not show an event whose row the reader has left', async () => {
    await using dev = await startDev()
    await dev.ingest(numbered(3))
    await using tab = await openTab(browser, dev, 'events?group=0')
    const { page } = tab
    const title = page.getByRole('complementary', { name: 'Event' }).getByRole('heading')
    const { promise: left, resolve: leave } = Promise.withResolvers<void>()
    let isSlow = false
    // A browser may miss a request that follows a new route at once, so the route is there from the start.
    await page.route(`**${paths.event}?*`, async route => {
      if (isSlow) await left
      await route.continue().catch(() => {})
    })
    await tab.shows('event 2 info')
    await tab.press('j', 'Enter')
    await eventually(() => title.textContent()).toBe('event 2 info')
    const asked = page.waitForRequest(`**${paths.event}?*`)
    isSlow = true
    await tab.press('j')
    await asked
    const ended = Promise.race([page.waitForEvent('requestfinished'), page.waitForEvent('requestfailed')])
    await tab.press('k')
    leave()
    await ended
    await page.evaluate('new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
    expect(await title.textContent()).toBe('event 2 info')
    await tab.press('j')
    await eventually(() => title.textContent()).toBe('event 1 info')
  })

  it('that the service makes for a shipper is shown, with the reason and what came of it', async () => {
    await using dev = await startDev()
    await dev.ingest([{ message: 'before' }])
    await using tab = await openTab(browser, dev)
    const { page } = tab
    await tab.shows('before')
    const { status } = await dev.raw('/v1/datasets/shop/ingest', {
      method: 'POST',
      headers: { authorization: `Bearer ${dev.token}`, 'content-type': 'application/x-ndjson' },
      body: '{"user":,"id":1}\n',
    })
    expect(status).toBe(400)
    await page.getByText(/The service refused/).waitFor()
    await page.getByRole('link', { name: 'Request', exact: true }).click()
    await page
      .getByRole('region', { name: /^Request \d+/ })
      .getByText('{"user":,"id":1}')
      .waitFor()

    // A fault is started and stopped by keys alone.
    await tab.press('5')
    await page.getByRole('heading', { name: 'Faults' }).waitFor()
    await page.getByRole('spinbutton', { name: 'Status' }).focus()
    await tab.press('Enter')
    await page.getByText(/▶ 503/).waitFor()
    const logs = dev.shipper('shop')
    logs.ship({ level: 'info', message: 'survives' })
    const flushed = logs.flush()
    await page.getByText(/[1-9]\d* attempts?, [1-9]\d* refused/).waitFor()
    await page.getByRole('button', { name: 'Copy as --fault' }).click()
    await eventually(() => page.evaluate('navigator.clipboard.readText()')).toMatch(/^--fault '.*503.*'$/)
    await page.getByRole('button', { name: 'Stop' }).focus()
    await tab.press('Enter')
    await page.getByText(/No fault is running/).waitFor()
    await flushed
    await tab.press('1')
    await eventually(() => tab.messages()).toContain('survives')
  })

  it('of the connection is shown, and what arrived meanwhile is counted', async () => {
    await using dev = await startDev()
    await dev.ingest([{ message: 'before' }])
    await using proxy = await startCuttableProxy(dev.url)
    await using tab = await openTab(browser, proxy)
    await tab.shows('before')
    await proxy.cut()
    await tab.page.getByText(/Disconnected for/).waitFor()
    await dev.ingest([{ message: 'arrived meanwhile' }, { message: 'and another' }])
    expect(await tab.messages()).toEqual(['before'])
    await proxy.mend()
    await tab.page.getByText(/Back after .*: 2 events arrived meanwhile and are below; 0 were forgotten/).waitFor()
    await tab.shows('and another', 'arrived meanwhile', 'before')
  })

  it('of too many open pages is told, and ends when one of them closes', async () => {
    await using dev = await startDev()
    await dev.ingest([{ message: 'before' }])
    const opened = async () => {
      const other = await dev.live()
      await other.next('hello') // at once: a stream that is not read may be closed when memory is collected
      return other
    }
    const others = await Promise.all(Array.from({ length: 16 }, opened))
    await using tab = await openTab(browser, dev)
    await tab.page.getByText('Too many pages are open; close one of them', { exact: false }).waitFor()
    for (const other of others) await other[Symbol.asyncDispose]()
    await tab.shows('before')
  })

  it('is counted in the title of a tab that is hidden, which holds no connection', async () => {
    await using dev = await startDev()
    await dev.ingest([{ message: 'before' }])
    await using tab = await openTab(browser, dev)
    const { page } = tab
    await page.clock.install()
    await page.reload()
    await tab.shows('before')
    const show = (state: 'hidden' | 'visible') =>
      page.evaluate(`Object.defineProperty(document, 'visibilityState', { get: () => '${state}', configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))`)
    const streams = () => tab.requests.filter(url => url.includes(paths.live)).length
    const polls = () => tab.requests.filter(url => url.includes(paths.summary)).length
    const opened = streams()
    const counted = page.waitForResponse(`**${paths.summary}*`)
    await show('hidden')
    await page.clock.runFor(11_000)
    await (await counted).finished()
    expect(polls()).toBe(1)
    await dev.ingest([{ level: 'error', message: 'unseen' }])
    await eventually(async () => {
      await page.clock.runFor(31_000)
      return page.title()
    }).toBe('(1) logferry dev')
    expect(await tab.messages()).toEqual(['before'])
    expect(streams()).toBe(opened)
    await show('visible')
    await tab.shows('unseen', 'before')
    await eventually(() => page.title()).toBe('logferry dev')
  })

  it('waits for a tab that was opened in the background until the tab is looked at, so that many tabs work', async () => {
    await using dev = await startDev()
    await dev.ingest([{ message: 'before' }])
    await using tab = await openTab(browser, dev)
    const others = await Promise.all(Array.from({ length: 8 }, () => tab.context.newPage()))
    for (const other of others) {
      await other.addInitScript(
        `Object.defineProperty(document, 'visibilityState', { get: () => globalThis.isShown ? 'visible' : 'hidden' })`,
      )
      await other.goto(`${dev.url}/dev/events`)
    }
    await dev.ingest([{ message: 'after' }])
    await tab.shows('after', 'before')
    const last = others.at(-1)
    await last?.evaluate(`globalThis.isShown = true; document.dispatchEvent(new Event('visibilitychange'))`)
    await last?.locator('.row:visible .text', { hasText: 'after' }).waitFor()
  })

  it('of a service that was started anew leaves the older rows on the page until they are not needed', async () => {
    await using first = await startDev()
    await first.ingest([{ message: 'of the first run' }])
    await using tab = await openTab(browser, first)
    await tab.shows('of the first run')
    const port = new URL(first.url).port
    await first.process[Symbol.asyncDispose]()
    await tab.page.getByText(/Disconnected for/).waitFor()
    expect(await tab.messages()).toEqual(['of the first run'])
    await using second = await startDev(['--port', port])
    await second.ingest([{ message: 'of the second run' }])
    await tab.page.getByText('The service restarted. 1 older row exists only on this page.').waitFor()
    expect(await tab.messages()).toEqual(['of the first run'])
    await tab.page.getByRole('button', { name: 'Clear', exact: true }).click()
    await tab.shows('of the second run')
  })

  it('of a service that was started anew keeps the older rows also if a moment was marked, and if columns change', async () => {
    await using first = await startDev()
    await first.ingest([{ message: 'of the first run', n: 1, m: 'second' }])
    await using tab = await openTab(browser, first, 'events?cols=n,m')
    await tab.shows('of the first run')
    await tab.press('m')
    await tab.page.waitForURL(/mark=1/)
    const port = new URL(first.url).port
    await first.process[Symbol.asyncDispose]()
    await tab.page.getByText(/Disconnected for/).waitFor()
    await using second = await startDev(['--port', port])
    await second.ingest([{ message: 'of the second run' }])
    await tab.page.getByText('The service restarted. 1 older row exists only on this page.').waitFor()
    expect(await tab.messages()).toEqual(['of the first run'])
    await tab.press('m')
    await tab.page.getByText('View', { exact: true }).click()
    await tab.page.getByRole('checkbox', { name: 'n', exact: true }).click()
    await eventually(() => tab.page.getByRole('columnheader', { name: 'n', exact: true }).count()).toBe(0)
    expect(await tab.messages()).toEqual(['of the first run'])
    await tab.page.getByRole('gridcell', { name: 'second', exact: true }).waitFor()
    await tab.press('Escape', '.')
    await tab.shows('of the second run')
    await second.ingest([{ message: 'newest' }])
    await tab.shows('newest', 'of the second run')
  })
})
