/** What the page looks like to people who see little, use no mouse or have a small screen. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { browserTestTimeoutMs, eventually, openTab, startBrowser } from './browser.ts'
import { type Dev, startDev } from './service.ts'

vi.setConfig({ testTimeout: browserTestTimeoutMs, hookTimeout: browserTestTimeoutMs })

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const trace = '4bf92f3577b34da6a3ce929d0e0e4736'

let browser: Browser
let dev: Dev
let empty: Dev
beforeAll(async () => {
  const started = await Promise.all([startBrowser(), startDev(), startDev()])
  browser = started[0]
  dev = started[1]
  empty = started[2]
  const events = (['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const).map((level, n) => ({
    level,
    message: `something of level ${level}, searched for`,
    service: `service-${n}`,
    http: { status: 500 + n },
    trace_id: trace,
    span_id: '00f1aa00f1aa00f1',
    tags: ['blue', { deep: true, nothing: null }],
    error: {
      type: 'TypeError',
      stack: 'TypeError: no\n    at a (/app/a.ts:1:1)\n    at b (node:b)\n    at c (node:c)',
    },
    hidden: 'a\u202eb \u001b[32mgreen\u001b[0m',
  }))
  await dev.ingest([...events, ...events])
  await dev.ingest([{ _time: new Date(Date.now() - 3_600_000).toISOString(), level: 'info', message: 'late' }])
  await dev.raw('/v1/datasets/shop/ingest', {
    method: 'POST',
    headers: { authorization: `Bearer ${dev.token}` },
    body: '{"x":',
  })
}, 60_000)
afterAll(async () => {
  await browser?.close()
  await dev?.[Symbol.asyncDispose]()
  await empty?.[Symbol.asyncDispose]()
})

type Screen = readonly [name: string, path: string, prepare: (page: Page) => Promise<void>]

const screens: readonly Screen[] = [
  ['events', `events?q=searched+-absent&off=level:info&cols=http.status&mark=3&group=0`, rowsOf],
  [
    'an open event',
    'events?q=level:error&group=0',
    async page => {
      await rowsOf(page)
      await page.keyboard.press('j')
      await page.keyboard.press('Enter')
      await page.getByRole('tree').waitFor()
    },
  ],
  [
    'keys',
    'events',
    async page => {
      await rowsOf(page)
      await page.keyboard.press('?')
      await page.getByRole('dialog').waitFor()
    },
  ],
  ['no match', 'events?q=http.staus:1', page => page.getByText('No event matches.').first().waitFor()],
  ['groups', 'groups', page => page.locator('tbody tr').first().waitFor()],
  ['trace', `trace/${trace}`, page => page.locator('tbody tr').first().waitFor()],
  ['requests', 'requests/1', page => page.getByRole('region', { name: /^Request/ }).waitFor()],
  ['fields', 'fields', page => page.locator('tbody tr').first().waitFor()],
  ['cost', 'cost', page => page.locator('tbody tr').first().waitFor()],
  ['faults', 'faults', page => page.getByText('No fault is running.').waitFor()],
]

async function rowsOf(page: Page): Promise<void> {
  await page.locator('.row:visible .text', { hasText: /\w/ }).first().waitFor()
}

/** Screens that are laid out anew where there is less room. */
const narrow = ['events', 'an open event', 'requests', 'faults']

describe.each([1440, 800, 400])('at a width of %i', width => {
  it('no screen has a violation that axe knows, in either theme, and none is wider than the window', async () => {
    await using tab = await openTab(browser, dev, 'events', { width })
    const { page } = tab
    const shown = screens.filter(([name]) => width === 1440 || narrow.includes(name))
    const firstRun: Screen = [
      'empty',
      'events',
      () =>
        page
          .getByRole('button', { name: /^Copy: In the/ })
          .first()
          .waitFor(),
    ]
    for (const [name, path, prepare] of [...shown, firstRun]) {
      await page.goto(`${name === 'empty' ? empty.url : dev.url}/dev/${path}`)
      await prepare(page)
      expect(await violationsOn(page), name).toEqual([])
      // The themes differ in nothing but their colors.
      await page.emulateMedia({ colorScheme: 'dark' })
      expect(await violationsOn(page, ['color-contrast']), `${name}, dark`).toEqual([])
      await page.emulateMedia({ colorScheme: 'light' })
      const overflow = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      expect(overflow, name).toBeLessThanOrEqual(0)
    }
    expect(tab.complaints).toEqual([])
  }, 120_000)
})

it('the focus passes through the page in the order of reading, and F6 from region to region', async () => {
  await using tab = await openTab(browser, dev, 'events?q=searched')
  const { page } = tab
  await rowsOf(page)
  await tab.press('Tab')
  expect(await page.locator(':focus').textContent()).toBe('Skip to the content')
  await tab.press('Enter')
  expect(await page.locator(':focus').getAttribute('id')).toBe('list')
  const regions: (string | null)[] = []
  for (let n = 0; n < 6; n++) {
    await tab.press('F6')
    regions.push(String(await page.evaluate('document.activeElement.closest("[data-region]")?.dataset.region')))
  }
  expect(regions).toEqual(['tabs', 'query', 'actions', 'facets', 'chart', 'list'])
  await tab.press('j', 'Enter')
  await page.getByRole('tree').waitFor()
  await page.getByRole('button', { name: 'Close the event' }).click()
  await eventually(() => page.locator(':focus').getAttribute('id')).toBe('list')
})

async function violationsOn(page: Page, rules?: readonly string[]): Promise<string[]> {
  await page.evaluate(axe)
  const options = rules === undefined ? {} : { runOnly: { type: 'rule', values: rules } }
  const { violations } = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as AxeResults
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  )
}
