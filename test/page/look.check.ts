/** What the page looks like to people who see little, use no mouse or have a small screen. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { paths } from '../../src/dev/protocol.ts'
import { type Dev, startDev } from '../dev/service.ts'
import { eventually, openTab, startBrowser } from './browser.ts'

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
  await dev.post(paths.faults, { start: { kind: 'latency', latencyMs: 1, forS: 600 } })
  await dev.post(paths.faults, { start: { kind: 'latency', latencyMs: 2, forS: 600 } })
}, 60_000)
afterAll(async () => {
  await browser?.close()
  await dev?.[Symbol.asyncDispose]()
  await empty?.[Symbol.asyncDispose]()
})

type Screen = readonly [name: string, path: string, prepare: (page: Page) => Promise<void>]

const screens: readonly Screen[] = [
  ['events', 'events?q=searched+-absent&off=level:info&cols=http.status&mark=3&group=0', rowsOf],
  ['filters', 'events?q=searched&group=0', openFilters],
  ['an open event', 'events?q=level:error&group=0', openEvent],
  ['an event as a page', 'events?q=level:error&group=0', openEventPage],
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
  ['groups', 'groups', firstRow],
  ['trace', `trace/${trace}`, firstRow],
  [
    'requests',
    'requests/1',
    async page => {
      await page.getByRole('region', { name: /^Request/ }).waitFor()
      await page.locator('table.requests tbody tr').first().waitFor()
    },
  ],
  ['fields', 'fields/d', firstRow],
  ['cost', 'cost', firstRow],
  ['faults', 'faults', openFaults],
  [
    'empty',
    '',
    page =>
      page
        .getByRole('button', { name: /^Copy: In the/ })
        .first()
        .waitFor(),
  ],
]

function firstRow(page: Page): Promise<void> {
  return page.locator('tbody tr').first().waitFor()
}

async function rowsOf(page: Page): Promise<void> {
  await page.locator('.row:visible .text', { hasText: /\w/ }).first().waitFor()
}

/** Opens what chooses values: a column where there is room, and a sheet where there is not. */
async function openFilters(page: Page): Promise<void> {
  await rowsOf(page)
  const sheet = page.getByText('Filters', { exact: true })
  if (await sheet.isVisible()) await sheet.click()
  const field = page.getByRole('textbox', { name: 'Field to add as a facet' })
  await field.fill('http.status')
  await field.press('Enter')
  await page.getByRole('checkbox', { name: /500/ }).waitFor()
}

async function openEvent(page: Page): Promise<void> {
  await rowsOf(page)
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.getByRole('tree').waitFor()
}

async function openEventPage(page: Page): Promise<void> {
  await openEvent(page)
  await page.getByRole('link', { name: 'open as a page' }).click()
  await page.waitForURL(/\/dev\/event\//)
  await page.getByRole('tree').waitFor()
}

/** Shows a fault that runs, one that has ended, and a limit with a mistake. */
async function openFaults(page: Page): Promise<void> {
  const fields = page.getByRole('form', { name: 'Fields of a dataset' })
  await fields.getByRole('textbox').fill('many')
  await fields.getByRole('textbox').press('Enter')
  await fields.getByRole('alert').waitFor()
  await page.getByText(/▶ latency/).waitFor()
  await page.getByRole('heading', { name: 'Ended' }).waitFor()
}

/** Opens each screen in turn, and looks at it. */
async function onEachScreen(page: Page, look: (name: string) => Promise<void>): Promise<void> {
  for (const [name, path, prepare] of screens) {
    await page.goto(name === 'empty' ? `${empty.url}/dev/events` : `${dev.url}/dev/${path}`)
    await prepare(page)
    await look(name)
  }
}

describe('no screen has a violation that axe knows, and none has a control beyond the edge', {
  timeout: 120_000,
}, () => {
  it('at a width of 1280, in both themes', async () => {
    await using tab = await openTab(browser, dev, 'faults', { width: 1280 })
    const { page } = tab
    await onEachScreen(page, async name => {
      expect(await violationsOn(page), name).toEqual([])
      expect(await page.evaluate(lostControls), name).toEqual([])
      // The themes differ in nothing but their colors.
      await page.emulateMedia({ colorScheme: 'dark' })
      expect(await violationsOn(page, ['color-contrast']), `${name}, dark`).toEqual([])
      await page.emulateMedia({ colorScheme: 'light' })
    })
    expect(tab.complaints).toEqual([expect.stringContaining('status of 400')])
  })

  it('at widths of 400, light, and 800, dark, and with the room that a zoom of 200 % leaves', async () => {
    const narrow = { width: 400, height: 900 }
    await using tab = await openTab(browser, dev, 'faults', narrow)
    const { page } = tab
    await onEachScreen(page, async name => {
      expect(await violationsOn(page), name).toEqual([])
      expect(await page.evaluate(lostControls), name).toEqual([])
      // Only style sheets tell one width from another, so what is open stays open.
      await page.setViewportSize({ width: 800, height: 900 })
      await page.emulateMedia({ colorScheme: 'dark' })
      expect(await violationsOn(page), `${name}, 800, dark`).toEqual([])
      expect(await page.evaluate(lostControls), `${name}, 800`).toEqual([])
      if (name === 'filters') expect(await page.getByRole('checkbox', { name: /500/ }).isVisible()).toBe(true)
      await page.setViewportSize({ width: 640, height: 400 })
      expect(await page.evaluate(lostControls), `${name}, zoomed`).toEqual([])
      await page.emulateMedia({ colorScheme: 'light' })
      await page.setViewportSize(narrow)
    })
    expect(tab.complaints).toEqual([expect.stringContaining('status of 400')])
  })
})

it('a window of 1280 by 900 with a zoom of 400 % still shows events and groups, and does not scroll sideways', async () => {
  await using tab = await openTab(browser, dev, 'events?q=searched&group=0', { width: 320, height: 225 })
  const { page } = tab
  await openFilters(page)
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
  await tab.press('Escape')
  await page.locator('.row:visible .text').first().scrollIntoViewIfNeeded()
  expect(await page.evaluate(`document.querySelector('#list').clientHeight`)).toBeGreaterThan(100)
  await page.goto(`${dev.url}/dev/groups`)
  await firstRow(page)
  expect(await page.evaluate(`document.querySelector('.screen').clientHeight`)).toBeGreaterThan(100)
})

it('neither the list beside an open event nor the tables on a phone scroll sideways', async () => {
  await using tab = await openTab(browser, dev, 'events?q=level:error&group=0', { width: 1280 })
  const { page } = tab
  const scrolls = `[...document.querySelectorAll('#list, .table-scroll, .screen')]
    .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).map(({ className }) => className)`
  await openEvent(page)
  for (const width of [1280, 1000]) {
    await page.setViewportSize({ width, height: 700 })
    expect(await page.evaluate(scrolls), `${width}`).toEqual([])
  }
  await page.setViewportSize({ width: 360, height: 700 })
  for (const path of ['fields/d', 'cost']) {
    await page.goto(`${dev.url}/dev/${path}`)
    await firstRow(page)
    expect(await page.evaluate(scrolls), path).toEqual([])
  }
})

describe('forced colors', () => {
  it('leave levels, the current tab, the current view and the selected row distinguishable', async () => {
    await using tab = await openTab(browser, dev, 'events?q=searched&group=0')
    const { page } = tab
    await page.emulateMedia({ forcedColors: 'active' })
    await rowsOf(page)
    await tab.press('j')
    const levels = await page.locator('.facets-column button .mark').allTextContents()
    expect(levels).toHaveLength(6)
    expect(new Set(levels).size).toBe(6)
    const styleOf = (selector: string, property: string) =>
      page
        .locator(selector)
        .first()
        .evaluate(
          (element, name) => element.ownerDocument.defaultView.getComputedStyle(element).getPropertyValue(name),
          property,
        )
    for (const [one, other, property] of [
      ['.tab[aria-current]', '.tab:not([aria-current])', 'border-bottom-color'],
      ['.segments [aria-current]', '.segments :not([aria-current])', 'background-color'],
      ['.space > .row[aria-selected=true]', '.space > .row:not([aria-selected=true])', 'outline-style'],
    ] as const) {
      expect(await styleOf(one, property), one).not.toBe(await styleOf(other, property))
    }
    expect(await violationsOn(page)).toEqual([])
  })

  it('leave the levels in the chart distinguishable', async () => {
    await using tab = await openTab(browser, dev, 'requests')
    const { page } = tab
    await page.emulateMedia({ forcedColors: 'active' })
    await page.goto(`${dev.url}/dev/events?q=searched`)
    await rowsOf(page)
    // Levels, lines and text.
    await eventually(() => page.evaluate(colorsInChart)).toBeGreaterThan(5)
  })
})

/** The number of colors that fill parts of the chart. */
const colorsInChart = `(() => {
  const canvas = document.querySelector('.chart canvas')
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
  const counts = new Map()
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] < 255) continue
    const color = data.slice(at, at + 3).join()
    counts.set(color, (counts.get(color) ?? 0) + 1)
  }
  return [...counts.values()].filter(count => count >= 20).length
})()`

it('nothing on the page moves for readers who want that', async () => {
  const animations = async (moves: boolean) => {
    await using tab = await openTab(browser, empty, 'events', { moves })
    await tab.page.getByText('No event has arrived yet.').waitFor()
    return await tab.page.evaluate('document.getAnimations().length')
  }
  expect(await animations(true)).toBeGreaterThan(0)
  expect(await animations(false)).toBe(0)
})

describe('the Tab key', () => {
  it.each(['events', 'an open event', 'requests', 'cost', 'faults'])(
    'reaches every control of %s, and shows where it is',
    async screen => {
      const [, path, prepare] = screens.find(([name]) => name === screen) as Screen
      await using tab = await openTab(browser, dev, path)
      const { page } = tab
      await prepare(page)
      const unmarked: unknown[] = []
      for (let n = 0; n < maxTabs; n++) {
        await tab.press('Tab')
        const focus = await page.evaluate(focusNow)
        if (focus === null) break
        if (focus !== '') unmarked.push(focus)
      }
      expect(unmarked).toEqual([])
      expect(await page.evaluate(unreached)).toEqual([])
    },
  )
})

const maxTabs = 200

/**
 * Marks the element with the focus. Returns `null` if the focus has come back to an element, and the element if nothing
 * shows its focus. At the end of the page, the focus leaves the page or stays for one press of the key.
 */
const focusNow = `(() => {
  const { activeElement: element, body } = document
  if (element === body || element === null || element === globalThis.latest) return ''
  globalThis.latest = element
  if (element.dataset.reached !== undefined) return null
  element.dataset.reached = ''
  const isMarked = [element, element.parentElement].some(each => getComputedStyle(each).outlineStyle !== 'none')
  return isMarked ? '' : element.outerHTML
})()`

const unreached = `[...document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')]
  .filter(({ tabIndex, disabled, dataset }) => tabIndex >= 0 && disabled !== true && dataset.reached === undefined)
  .filter(element => element.checkVisibility({ visibilityProperty: true }))
  .map(element => element.outerHTML)`

/** Controls that lie beyond the left or right edge of the window, and cannot be scrolled to. */
const lostControls = `[...document.querySelectorAll('a, button, input, select, summary')]
  .filter(control => {
    const { left, right, width } = control.getBoundingClientRect()
    if (width < 2 || !control.checkVisibility({ visibilityProperty: true }) || control.closest('.table-scroll')) return false
    return left < -1 || right > innerWidth + 1
  })
  .map(control => control.outerHTML)`

it('the focus passes through the page in the order of reading, and F6 from region to region', async () => {
  await using tab = await openTab(browser, dev, 'events?q=searched')
  const { page } = tab
  await rowsOf(page)
  await tab.press('Tab')
  await eventually(() => page.locator(':focus').textContent()).toBe('Skip to the content')
  await tab.press('Enter')
  await eventually(() => page.locator(':focus').getAttribute('id')).toBe('list')
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
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(axe)
  // Without the types, axe also describes every element that passes, which takes most of its time.
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: { type: 'rule', values: rules } }) }
  const { violations } = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as AxeResults
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  )
}
