/** Nothing that is logged can do more on the page than be read. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Locator } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { paths, type ServiceStatus } from '../../src/dev/protocol.ts'
import { type Dev, startDev } from '../dev/service.ts'
import { eventually, openTab, startBrowser, type Tab } from './browser.ts'

const foreignPage = readFileSync(new URL('./foreign-page.js', import.meta.url), 'utf8')
const esc = '\u001b'

/** Each would do something if it were taken for more than text. */
const hostile: readonly string[] = [
  '<script>globalThis.wasObeyed = 1</script>',
  '<img src=x onerror="globalThis.wasObeyed = 1">',
  '"><svg onload=globalThis.wasObeyed=1>',
  '</script></style></textarea><iframe src="//evil.example"></iframe>',
  '<style>* { display: none }</style>',
  'javascript:globalThis.wasObeyed=1',
  'https://evil.example/beacon',
  '{{constructor.constructor("globalThis.wasObeyed=1")()}}',
  `${esc}]8;;https://evil.example${esc}\\click${esc}]8;;${esc}\\`,
  `${esc}[2J${esc}[31mred${esc}[0m`,
  'invoice\u202egpj.exe',
  'nul\u0000 and half \ud83d',
  '__proto__',
  'constructor',
  'toString',
]

function hostileEvent(value: string, n: number): object {
  const name = value.replaceAll('.', '\u2024')
  return {
    level: n % 3 === 0 ? value : 'error',
    message: value,
    service: value,
    trace_id: n % 2 === 0 ? value : 'f'.repeat(32),
    span_id: value,
    [name]: value,
    http: JSON.parse(
      `{${JSON.stringify(name)}:{"__proto__":{"wasObeyed":1},"constructor":{"prototype":1}},"url":${JSON.stringify(value)}}`,
    ),
    list: [value, [value], { [name]: value }],
    error: {
      type: value,
      message: value,
      stack: `${value}: ${value}\n    at ${value} (/app/${value}.js:1:1)\n    at y (node:x)\n    at z (node:x)`,
    },
  }
}

let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser?.close())

describe('what is logged', () => {
  let dev: Dev
  let tab: Tab
  beforeAll(async () => {
    dev = await startDev()
    for (const [n, value] of hostile.entries()) await dev.ingest([hostileEvent(value, n)])
    await dev.raw('/v1/datasets/shop/ingest', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${dev.token}`,
        'user-agent': '<img src=x onerror=alert(1)>',
        'x-evil': '<svg onload=1>',
      },
      body: `{"x":"<script>globalThis.wasObeyed=1</script>${'\u202e'}`,
    })
    tab = await openTab(browser, dev, `events?q=&cols=http.url,${encodeURIComponent('__proto__')}`)
  })
  afterAll(async () => {
    await tab?.[Symbol.asyncDispose]()
    await dev?.[Symbol.asyncDispose]()
  })

  it.each(['events', 'groups', 'requests', 'fields', 'cost', 'faults'])(
    'is only text on %s, also in the query, in a path and behind a mark',
    async screen => {
      const { page } = tab
      const evil = encodeURIComponent('<img src=x onerror=globalThis.wasObeyed=1>')
      await page.goto(`${dev.url}/dev/${screen}?q=&off=${evil}&cols=${evil},http.url&mark=1`)
      await page.getByRole('heading', { level: 1 }).or(page.getByRole('grid')).first().waitFor()
      await page.goto(`${dev.url}/dev/${screen}?q=${evil}`)
      await page
        .getByText('img src=x', { exact: false })
        .first()
        .or(page.getByRole('heading', { level: 1 }))
        .first()
        .waitFor()
      await page.goto(`${dev.url}/dev/${screen}`)
      await eventually(async () => (await page.locator('body').textContent())?.length ?? 0).toBeGreaterThan(200)
      await expectOnlyText(tab, dev)
    },
  )

  it('has its icon inside, so that no browser asks for one and counts as refused', async () => {
    const width = await tab.page.evaluate(`(async () => {
      const icon = new Image()
      icon.src = document.querySelector('link[rel=icon]').href
      await icon.decode()
      return icon.naturalWidth
    })()`)
    expect(width).toBeGreaterThan(0)
  })

  it('appears in a browser that names a language which `Intl` rejects', async () => {
    await using context = await browser.newContext()
    await context.addInitScript(`Object.defineProperty(navigator, 'language', { get: () => 'C' })`)
    const page = await context.newPage()
    await page.goto(`${dev.url}/dev/events`)
    await page.locator('#list .space > .row:visible').first().waitFor()
  })

  it('is only text in the open event, its trace, its request and the menu of a value', async () => {
    const { page } = tab
    await page.goto(`${dev.url}/dev/events?group=0`)
    await eventually(() => tab.messages()).toHaveLength(hostile.length)
    await tab.press('g', 'Enter')
    for (let n = 0; n < hostile.length; n++) {
      await page
        .getByRole('complementary', { name: 'Event' })
        .getByRole('treeitem', { name: /^message/ })
        .first()
        .waitFor()
      await tab.press('j')
    }
    await tab.press('g', 'j', 'ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowRight')
    await page.keyboard.press('Shift+F10')
    await page.getByRole('menu').waitFor()
    await expectOnlyText(tab, dev)
    await tab.press('Escape', 't')
    await page.getByRole('heading', { level: 1 }).waitFor()
    await expectOnlyText(tab, dev)
    await page.getByRole('link', { name: 'Requests' }).click()
    await page.locator('table.requests .status.refused').first().waitFor()
    await page
      .locator('table.requests tbody tr', { has: page.locator('.status.refused') })
      .first()
      .getByRole('link')
      .first()
      .click()
    const request = page.getByRole('region', { name: /^Request/ })
    await request.getByText('<script>', { exact: false }).waitFor()
    await expectOnlyText(tab, dev)
  })

  it('is shown with a label in place of each character that acts or hides', async () => {
    const { page } = tab
    await page.goto(`${dev.url}/dev/events?q=invoice&group=0`)
    await tab.shows('invoice⟦RLO⟧gpj.exe')
    await page.goto(`${dev.url}/dev/events?q=2J&group=0`)
    await tab.shows('␛[2Jred')
    await page.locator('.row:visible .text .ansi-red', { hasText: 'red' }).waitFor()
  })

  it('is copied without a character that acts or hides', async () => {
    const { page } = tab
    await page.goto(`${dev.url}/dev/events?q=invoice&group=0`)
    await tab.shows('invoice⟦RLO⟧gpj.exe')
    await tab.press('g', 'y')
    await page.getByText('JSON copied.').waitFor()
    const copied = String(await page.evaluate('navigator.clipboard.readText()'))
    expect(copied).toContain('invoice\\u202egpj.exe')
    expect(JSON.parse(copied).message).toBe('invoice\u202egpj.exe')
  })

  it('may be 1 MB long or 200 levels deep, and is shown a part at a time', async () => {
    const { page } = tab
    await dev.ingest([{ message: 'large', text: `${'x'.repeat(1_000_000)}end` }], 'large')
    const deep = JSON.parse(`${'{"a":'.repeat(200)}1${'}'.repeat(200)}`)
    await dev.ingest([{ message: 'deep', deep, many: Array.from({ length: 1000 }, (_, n) => n) }], 'large')
    await page.goto(`${dev.url}/dev/events?q=dataset:large&group=0`)
    await tab.shows('deep', 'large')
    await tab.press('j', 'j', 'Enter')
    const panel = page.getByRole('complementary', { name: 'Event' })
    await panel.getByRole('button', { name: 'Next 65.5 KB' }).click()
    await panel.getByText('932 KB more').waitFor()
    await tab.press('k')
    await panel.getByRole('heading', { name: 'deep' }).waitFor()
    await panel.getByRole('treeitem', { name: /many/ }).click()
    await panel.getByRole('treeitem', { name: 'show the next 200 of 800 more' }).click()
    await panel.getByRole('treeitem', { name: 'show the next 200 of 600 more' }).waitFor()
    expect(await panel.getByRole('treeitem').count()).toBeLessThan(500)
    await expectOnlyText(tab, dev)
  })

  it.each([1280, 360])('may have no space at all, and does not widen a page of %i pixels', async width => {
    await using dev = await startDev()
    const long = 'x'.repeat(3000)
    const dataset = 'd'.repeat(100)
    await dev.ingest(
      [{ _time: long, level: long, message: long, service: long, trace_id: long, [long]: long }],
      dataset,
    )
    for (const query of [long, long.toUpperCase()]) {
      await dev.post(paths.faults, { start: { kind: 'reject', query, forS: 600 } })
    }
    await using tab = await openTab(browser, dev, 'events', { width })
    const { page } = tab
    const open = async (path: string, shown: Locator) => {
      await page.goto(`${dev.url}/dev/${path}`)
      await shown.first().waitFor()
      expect(await page.evaluate(widened), path.slice(0, 20)).toEqual([])
    }
    const cell = page.getByRole('cell')
    await open('events', page.locator('#list .space > .row:visible'))
    await tab.press('j', 'Enter')
    await page.getByRole('treeitem', { name: /^level/ }).waitFor()
    expect(await page.evaluate(widened), 'detail').toEqual([])
    await open(`events?q=${long}:1+${long}`, page.getByText('No event matches.'))
    await dev.raw(`/${long}`) // a path that the service does not know
    for (const path of ['groups', 'fields', 'cost', 'requests/1', `trace/${long}`]) {
      await open(path, cell)
      expect(await page.evaluate(widestTable), path.slice(0, 20)).toBeLessThanOrEqual(Math.max(width, 640))
    }
    await open('faults', page.getByText(/^▶/))
  })

  it('may be blank for long, and opens at once', async () => {
    const { page } = tab
    const blank = ['\n', ' ', '\t \n', '\n at '].map(part => part.repeat(100_000 / part.length))
    const [lines, spaces, mixed, frames] = blank
    await dev.ingest([{ message: 'blank', lines, spaces, mixed, frames, stack: `Error${blank.join('x')}` }], 'blank')
    await page.goto(`${dev.url}/dev/events?q=dataset:blank&group=0`)
    await tab.shows('blank')
    await tab.press('j', 'Enter')
    const panel = page.getByRole('complementary', { name: 'Event' })
    await panel.getByRole('treeitem', { name: /^frames/ }).waitFor()
    await eventually(() => panel.getByText('98.0 KB more').count()).toBe(4)
    await expectOnlyText(tab, dev)
  })

  it('reaches no other site: the page stands in no frame and asks nobody', async () => {
    expect(tab.requests.filter(url => !url.startsWith(`${dev.url}/dev/`))).toEqual([])
    const other = await startBrowser()
    try {
      const page = await other.newPage()
      await page.setContent(`<iframe src="${dev.url}/dev/events"></iframe>`)
      await eventually(() => Promise.resolve(page.frames().length)).toBe(2)
      await eventually(async () => page.frames().every(frame => !frame.url().startsWith(dev.url))).toBe(true)
    } finally {
      await other.close()
    }
  })
})

describe.concurrent('a page of another site in the same browser', () => {
  it.each([
    ['another port of this machine', (port: number) => `http://127.0.0.1:${port}`],
    ['another name', (port: number) => `http://evil.test:${port}`],
  ])('on %s can neither read, nor ingest, nor change anything', async (_, originOf) => {
    await using dev = await startDev()
    await dev.ingest([{ message: 'private' }])
    await using site = await startSite()
    const rules = '--host-resolver-rules=MAP evil.test 127.0.0.1'
    const other = await startBrowser([rules])
    try {
      const page = await other.newPage()
      await page.goto(originOf(site.port))
      for (const target of [dev.url, `http://evil.test:${new URL(dev.url).port}`]) {
        const outcome = (await page.evaluate(`${foreignPage}; tryEverything('${target}')`)) as string[]
        expect(outcome).toHaveLength(15)
        expect(outcome.filter(text => !/^\S+ (?:opaque|failed)$/.test(text))).toEqual([])
      }
      const status = () => dev.get<ServiceStatus>(paths.status)
      // Blind posts, beacons and forms have reached the service, and were refused.
      await eventually(async () => (await status()).refused.reduce((sum, { count }) => sum + count, 0)).toBe(8)
      expect(await status()).toMatchObject({ newest: 1, kept: 1, faults: [] })
    } finally {
      await other.close()
    }
  })

  it('of a name that points to this machine by now gets neither page nor data', async () => {
    await using dev = await startDev()
    await dev.ingest([{ message: 'private' }])
    const rules = '--host-resolver-rules=MAP rebound.test 127.0.0.1'
    const other = await startBrowser([rules])
    try {
      const page = await other.newPage()
      for (const path of ['/', '/dev/events', paths.events, paths.export]) {
        const answer = await page.goto(`http://rebound.test:${new URL(dev.url).port}${path}`)
        expect([answer?.status(), (await page.content()).includes('private')]).toEqual([403, false])
      }
    } finally {
      await other.close()
    }
  })
})

async function startSite(): Promise<AsyncDisposable & { port: number }> {
  const server = createServer((_, answer) => {
    answer.writeHead(200, { 'content-type': 'text/html' }).end('<body>another site')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

/** Elements that are wider than what they stand in. Tables and the list scroll by themselves. */
const widened = `[...document.querySelectorAll('html, body, body *')]
  .filter(element => element.clientWidth > 0 && !element.closest('#list, .table-scroll'))
  .filter(element => element.checkVisibility() && element.scrollWidth > element.clientWidth + 2)
  .filter(element => ['visible', 'auto'].includes(getComputedStyle(element).overflowX))
  .filter(element => getComputedStyle(element).display !== 'inline')
  .map(element => element.cloneNode().outerHTML.slice(0, 200))`

/** Width of the widest table. A narrow page scrolls a table sideways, but not for long. */
const widestTable = `Math.max(0, ...Array.from(document.querySelectorAll('.table-scroll'), one => one.scrollWidth))`

/** Elements of which the page has none. An `img` role of our own is an `svg` or the chart. */
const foreignElements =
  'iframe, object, embed, img, video, audio, link:not([rel=icon]), base, foreignObject, svg *:not(rect)'

async function expectOnlyText({ page, complaints }: Tab, dev: Dev): Promise<void> {
  expect(await page.locator(foreignElements).count()).toBe(0)
  expect(await page.locator('script').count()).toBe(1)
  expect(await page.locator('style').count()).toBe(1)
  expect(await page.evaluate('globalThis.wasObeyed ?? ({}).wasObeyed ?? null')).toBeNull()
  const links = await page.locator('a').evaluateAll(all => all.map(link => link.href as string))
  expect(links.filter(link => !link.startsWith(`${dev.url}/dev/`))).toEqual([])
  expect(complaints.filter(text => !text.includes('404'))).toEqual([])
}
