/** Trouble that is made on the page, and trouble of the connection that shows only after a while. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type FaultsAnswer, faultKinds, paths, type RequestsAnswer } from '../../src/dev/protocol.ts'
import { startDev } from '../dev/service.ts'
import { eventually, openTab, startBrowser, type Tab } from './browser.ts'
import { startCuttableProxy } from './cuttable-proxy.ts'

/** A page is slow if it has read nothing for longer than two seconds. */
const slowMs = 2500

const directory = mkdtempSync(join(tmpdir(), 'logferry-limits-'))
const limitsFile = join(directory, 'limits.json')
let browser: Browser
beforeAll(async () => {
  writeFileSync(limitsFile, JSON.stringify({ maxFields: 3, expiresAt: '2040-01-01T00:00:00Z' }))
  browser = await startBrowser()
})
afterAll(async () => {
  rmSync(directory, { recursive: true })
  await browser?.close()
})

it.concurrent('a request that is not kept any more is not shown with the content of another one', async () => {
  await using dev = await startDev()
  await dev.ingest([{ n: 1 }])
  await using tab = await openTab(browser, dev, 'requests')
  const { page } = tab
  await page.locator('table.requests tbody tr').first().getByRole('link').click()
  await page.getByRole('region', { name: 'Request 1' }).getByText('POST /v1/datasets/d/ingest').waitFor()
  await page.evaluate("history.pushState(null, '', '/dev/requests/99'); dispatchEvent(new PopStateEvent('popstate'))")
  await page.getByText('This request is not kept any more').waitFor()
  expect(await page.getByRole('region', { name: 'Request 99' }).count()).toBe(0)
})

it.concurrent('a limit is lowered and reset on the page, and the shipper gets through it', async () => {
  await using dev = await startDev()
  await using tab = await openTab(browser, dev, 'faults')
  const { page } = tab
  const rate = page.getByRole('form', { name: 'Requests per second' })
  const value = rate.getByRole('textbox', { name: 'Requests per second' })
  const isEnforced = rate.getByRole('checkbox')
  expect(await value.inputValue()).toBe('1000')
  expect(await isEnforced.isChecked()).toBe(false)

  await value.fill('a few')
  await value.press('Enter')
  const problem = "Must be an integer from 0 to 9007199254740991, not 'a few'"
  await rate.getByRole('alert').getByText(problem).waitFor()
  expect(await value.getAttribute('aria-invalid')).toBe('true')
  expect(await isEnforced.isChecked()).toBe(false)

  await value.fill('0')
  await value.press('Enter')
  await eventually(() => isEnforced.isChecked()).toBe(true)
  await eventually(() => rate.getByRole('alert').count()).toBe(0)
  const logs = dev.shipper('shop')
  logs.ship({ level: 'info', message: 'survives' })
  const flushed = logs.flush()
  await page.getByText('The service refused 1 event of shop: the license allows 0 requests per second').waitFor()

  // The reset is reached from the value by keys alone.
  await value.focus()
  await tab.press('Tab', 'Tab')
  expect(await page.locator(':focus').getAttribute('aria-label')).toBe('Reset: Requests per second')
  await tab.press('Enter')
  await eventually(() => value.inputValue()).toBe('1000')
  await eventually(() => isEnforced.isChecked()).toBe(false)
  await flushed
  await tab.press('1')
  await tab.shows('survives')
  const { requests } = await dev.get<RequestsAnswer>(paths.requests)
  expect([...new Set(requests.map(({ status, fault }) => `${status} ${fault}`))]).toEqual(['200 false', '429 false'])
  expect(tab.complaints).toEqual([expect.stringContaining('status of 400')])
})

it.concurrent('every kind of fault is started on the page, as the service then says', async () => {
  await using dev = await startDev()
  await using tab = await openTab(browser, dev, 'faults')
  const { page } = tab
  const kind = page.getByRole('combobox', { name: 'Fault' })
  await page.getByRole('spinbutton', { name: 'Retry-After, s' }).fill('7')
  for (const name of faultKinds) {
    await kind.selectOption(name)
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await eventually(async () =>
      (await dev.get<FaultsAnswer>(paths.faults)).running.map(one => one.fault.kind),
    ).toContain(name)
  }
  const { running, ended } = await dev.get<FaultsAnswer>(paths.faults)
  expect(ended.map(one => one.argument)).toEqual(['status=503,retry-after=7s,for=30s']) // the reset took its place
  expect(running.map(one => one.argument)).toEqual([
    'latency=2s,for=30s',
    'reset=after,for=30s',
    'slow-body=10kB,for=30s',
    'max-bytes=100kB,for=30s',
    'refuse-encoding=zstd,for=30s',
    'for=30s,reject=level:debug',
    'revoke-token,for=30s',
  ])
  await page.getByText('▶ 415 for zstd').waitFor()
})

it.concurrent('the limits of a file are those to which the page goes back; a license can be made to expire', async () => {
  await using dev = await startDev(['--limits', limitsFile])
  await using tab = await openTab(browser, dev, 'faults')
  const { page } = tab
  const fields = page.getByRole('form', { name: 'Fields of a dataset' })
  const validity = page.getByRole('form', { name: 'Validity' })
  const expires = validity.getByRole('textbox', { name: 'Expires at' })
  const ingested = async () => (await dev.ingest([{ a: 1, b: 2, c: 3, d: 4 }])).body
  expect(await ingested()).toContain("new field 'd' is one too many")
  await fields.getByRole('textbox').fill('4')
  await fields.getByRole('button', { name: /^Set/ }).click()
  await eventually(ingested).toContain('"failed":0')
  await expires.fill('2001-01-01')
  await validity.getByRole('combobox', { name: 'Payment' }).selectOption('failed')
  await expires.press('Enter')
  await eventually(ingested).toContain('the license expired at 2001-01-01')
  await validity.getByRole('button', { name: /^Reset/ }).click()
  await eventually(() => expires.inputValue()).toBe('2040-01-01T00:00:00Z')
  await eventually(() => validity.getByRole('combobox', { name: 'Payment' }).inputValue()).toBe('success')
  await eventually(() => validity.getByRole('checkbox').isChecked()).toBe(true)
  await fields.getByRole('button', { name: /^Reset/ }).click()
  await eventually(() => fields.getByRole('textbox').inputValue()).toBe('3')
  await fields.getByRole('checkbox').click() // the box follows the service, so it changes only when the service has answered
  await eventually(ingested).toContain('"failed":0')
})

it.concurrent('a stream that says nothing for 15 s is taken for lost, and what arrived meanwhile is counted', async () => {
  await using dev = await startDev()
  await dev.ingest([{ message: 'before' }])
  await using proxy = await startCuttableProxy(dev.url)
  await using tab = await openTab(browser, proxy)
  const { page } = tab
  await page.clock.install()
  await page.reload()
  await tab.shows('before')
  await page.clock.pauseAt(Date.now() + 60_000)
  // The jump of the clock is a silence too, as the lid of a laptop makes one.
  await page.clock.runFor(2000)
  await page.getByText(/^Live/).waitFor()
  // The page would try again by itself, if its clock did not stand still.
  await proxy.cut()
  const tryNow = page.getByRole('button', { name: 'Try now' })
  await tryNow.waitFor()
  await proxy.mend()
  await tryNow.focus()
  await tab.press('Enter')
  await page.getByText(/^Live/).waitFor()
  proxy.block()
  await dev.ingest([{ message: 'in the silence' }])
  await page.clock.runFor(12_000)
  expect(await page.getByText(/Disconnected for/).count()).toBe(0)
  await page.clock.runFor(4000)
  await page.getByText(/Disconnected for 1\d s/).waitFor()
  expect(await tab.messages()).toEqual(['before'])
  proxy.unblock()
  await page.clock.resume()
  await page.getByText(/Back after .*: 1 event arrived meanwhile and is below; 0 were forgotten/).waitFor()
  await tab.shows('in the silence', 'before')
})

it.concurrent('a screen reader hears when a pause or an outage begins and when it ends', async () => {
  await using dev = await startDev()
  await dev.ingest([{ message: 'before' }])
  await using proxy = await startCuttableProxy(dev.url)
  await using tab = await openTab(browser, proxy)
  const { page } = tab
  await tab.shows('before')
  const says = (text: string) => eventually(() => page.locator('.off-screen[role=status]').textContent()).toBe(text)
  for (const text of ['Paused', 'Resumed', 'Paused']) {
    await tab.press(' ')
    await says(text)
  }
  await proxy.cut()
  await says('Disconnected')
  await proxy.mend()
  await page.getByRole('button', { name: 'Try now' }).click()
  await says('Connected again')
})

it.concurrent('a page that cannot keep up is told how many events it has not drawn', async () => {
  await using dev = await startDev()
  await dev.ingest([{ message: 'before' }])
  await using proxy = await startCuttableProxy(dev.url)
  await using tab = await openTab(browser, proxy, 'events?group=0')
  await tab.shows('before')
  proxy.block()
  // Long messages fill the connection at once. The list alone would take ten seconds.
  const start = { kind: 'reject', query: 'x'.repeat(4000), forS: 600 }
  for (let n = 0; n < 80; n++) await dev.post(paths.faults, { start })
  await dev.ingest(Array.from({ length: 300 }, (_, n) => ({ message: `not drawn ${n}` })))
  await sleep(slowMs)
  proxy.unblock()
  await tab.page.getByText(/This page could not keep up: 300 events were not drawn/).waitFor()
  await tab.shows('not drawn 299', 'not drawn 298')
})

it.concurrent('a page that has slept is not said to have been away since the service was started anew', async () => {
  await using first = await startDev()
  await using tab = await openTab(browser, first)
  const { page } = tab
  await page.clock.install()
  await page.reload()
  await page.getByText('No event has arrived yet.').waitFor()
  const port = new URL(first.url).port
  await first.process[Symbol.asyncDispose]()
  await page.getByText(/Disconnected for/).waitFor()
  await using second = await startDev(['--port', port])
  await second.ingest([{ message: 'of the second run' }])
  await eventually(async () => {
    await page.clock.runFor(1000)
    return tab.messages()
  }).toEqual(['of the second run'])
  await show(tab, 'hidden')
  await page.clock.runFor(11_000)
  await page.getByText('Asleep').waitFor()
  await second.ingest([{ message: 'unseen' }])
  await show(tab, 'visible')
  await tab.shows('unseen', 'of the second run')
  expect(await page.getByText(/Back after/).count()).toBe(0)
})

it.concurrent('a request that is opened in a tab in the background is there when the tab is looked at', async () => {
  await using dev = await startDev()
  await dev.ingest([{ n: 1 }])
  await using tab = await openTab(browser, dev)
  const { page } = tab
  await page.addInitScript(
    "Object.defineProperty(document, 'visibilityState', { get: () => 'hidden', configurable: true })",
  )
  await page.goto(`${dev.url}/dev/requests/1`)
  await page.getByText('Loading …').first().waitFor()
  await show(tab, 'visible')
  await page.getByRole('region', { name: 'Request 1' }).getByText('POST /v1/datasets/d/ingest').waitFor()
})

it.concurrent('an event that has a page of its own is the one that the keys act on', async () => {
  await using dev = await startDev()
  await dev.ingest([
    { message: 'one', trace_id: 'trace-of-one' },
    { message: 'two', trace_id: 'trace-of-two' },
  ])
  const { events } = await dev.events({ order: 'asc' })
  await using tab = await openTab(browser, dev)
  const { page } = tab
  await tab.shows('two', 'one')
  const openOne = async () => {
    await tab.press('1', 'g') // the cursor is on the other event
    await page.evaluate(
      `history.pushState(null, '', '/dev/event/${events[0]?.id}'); dispatchEvent(new PopStateEvent('popstate'))`,
    )
    await page.getByRole('heading', { name: 'one' }).waitFor()
  }
  await openOne()
  await tab.press('y')
  await page.getByText('JSON copied.').waitFor()
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(events[0]?.line)
  await tab.press('t')
  await page.getByRole('heading', { name: 'Trace trace-of-one' }).waitFor()
  await openOne()
  await tab.press('v')
  await page.waitForURL(/\/dev\/events\?.*\bsel=1\b/)
})

it.concurrent('requests of another status are shown from the newest, also after a look at older ones', async () => {
  await using dev = await startDev()
  for (let n = 0; n < 120; n++) await dev.ingest([{ n }])
  await dev.raw('/v1/datasets/d/ingest', { method: 'POST', body: '[]' })
  await using tab = await openTab(browser, dev, 'requests')
  const { page } = tab
  await page.getByRole('button', { name: 'Older' }).click()
  await page.getByRole('link', { name: /^Request 1,/ }).waitFor()
  await page.getByRole('combobox', { name: 'Status' }).selectOption('4xx')
  await page.getByRole('link', { name: /^Request 121,/ }).waitFor()
})

function show({ page }: Tab, state: 'hidden' | 'visible'): Promise<unknown> {
  return page.evaluate(`Object.defineProperty(document, 'visibilityState', { get: () => '${state}', configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))`)
}
