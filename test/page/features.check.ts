/** The page of `logferry dev` in a real browser: each feature as its user would use it. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { paths } from '../../src/dev/protocol.ts'
import { type Dev, startDev } from '../dev/service.ts'
import { shareAmongTests } from '../support/share-among-tests.ts'
import { eventually, openTab, startBrowser, type Tab } from './browser.ts'

const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const stack = `TypeError: no such order
    at pay (/app/src/pay.ts:42:7)
    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)
    at async Layer.handle (/app/node_modules/express/lib/router/layer.js:95:5)`

/** Eight events of two programs, oldest first. */
function eventsOfShop(): { message: string }[] {
  const at = Date.now() - 60_000
  const time = (n: number) => new Date(at + n * 1000).toISOString()
  return [
    { level: 'debug', message: 'cache miss', service: 'shop' },
    { level: 'info', message: 'health check', service: 'shop', http: { status: 200 } },
    {
      level: 'info',
      message: 'order placed',
      service: 'shop',
      http: { status: 201 },
      order: { id: 42, items: ['a', 'b'] },
    },
    {
      level: 'info',
      message: 'POST /pay',
      service: 'api',
      http: { status: 200 },
      trace_id: trace,
      span_id: '00f1aa00f1aa00f1',
    },
    { level: 'warn', message: 'retrying payment', service: 'pay', trace_id: trace, span_id: '91c2bb91c2bb91c2' },
    {
      level: 'error',
      message: 'payment timed out',
      service: 'pay',
      http: { status: 504 },
      trace_id: trace,
      span_id: '91c2bb91c2bb91c2',
      error: { type: 'TypeError', stack },
    },
    { level: 'fatal', message: 'uncaught ECONNREFUSED', service: 'pay', http: { status: 502 } },
    { level: 'info', message: 'health check', service: 'api', http: { status: 200 } },
  ].map((event, n) => ({ _time: time(n), ...event }))
}

/** The messages of all events on the page, newest first. */
const messagesOfAll = [
  'token checked',
  ...eventsOfShop()
    .map(({ message }) => message)
    .reverse(),
]

let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser?.close())

describe('an empty page', () => {
  it('says how to send logs, copies the token that it does not show, and shows the first event by itself', async () => {
    await using dev = await startDev()
    await using tab = await openTab(browser, dev)
    const { page } = tab
    await page.getByText('No event has arrived yet.').waitFor()
    await page.getByRole('link', { name: 'Groups' }).click()
    await page.getByText('0 groups.').waitFor()
    await page.getByText('No event has arrived yet.').waitFor()
    await page.getByRole('link', { name: 'List' }).click()
    const shell = page.getByRole('button', { name: /^Copy: In the shell/ })
    await shell.click()
    await page.getByText('Copied, with the token.').waitFor()
    const copied = await page.evaluate('navigator.clipboard.readText()')
    expect(copied).toBe(
      `export LOGFERRY_URL=${dev.url}\nexport LOGFERRY_DATASET=local\nexport LOGFERRY_TOKEN=${dev.token}`,
    )
    expect(await page.content()).not.toContain(dev.token)
    await page.getByRole('button', { name: 'Any OTLP program' }).click()
    await page.getByText(`export OTEL_EXPORTER_OTLP_ENDPOINT=${dev.url}`).waitFor()

    await page.getByRole('button', { name: 'Send a test event' }).click()
    await page.getByRole('grid').waitFor()
    await eventually(() => tab.messages()).toHaveLength(1)
    const logs = dev.shipper('orders')
    logs.ship({ level: 'info', message: 'from a real shipper' })
    await logs.flush()
    await eventually(() => tab.messages()).toContain('from a real shipper')
    expect(tab.complaints).toEqual([])
  })

  it('copies what it must ask for first, also in a browser that permits a copy only at the click or the key', async () => {
    await using dev = await startDev()
    await using tab = await openTab(browser, dev)
    const { page } = tab
    await page.addInitScript(copiesOnlyAtOnce)
    await page.reload()
    const copied = () => page.evaluate('navigator.clipboard.readText()')
    await page.getByRole('button', { name: /^Copy: In the shell/ }).click()
    await page.getByText('Copied, with the token.').waitFor()
    expect(await copied()).toContain(dev.token)
    await dev.ingest([{ message: 'selected, and not open' }])
    await tab.shows('selected, and not open')
    await tab.press('j', 'y')
    await page.getByText('JSON copied.').waitFor()
    expect(await copied()).toBe('{"message":"selected, and not open"}')
    expect(tab.complaints).toEqual([])
  })
})

it('copies a value whole from a list that shows its beginning', async () => {
  await using dev = await startDev()
  const long = (char: string) => `${char.repeat(1000)}\tend`
  await dev.ingest([{ msg: long('m'), text: long('t'), http: { request: { status: 504 } }, short: 'as it is' }])
  await using tab = await openTab(browser, dev, 'events?cols=text,http.request,short')
  const { page } = tab
  await page.locator('#list .space > .row:visible').waitFor()
  const copied = async (column: number) => {
    await page.locator('#list .space > .row:visible [role=gridcell]').nth(column).hover()
    await page.getByRole('button', { name: 'What to do with this value' }).click()
    await page.getByRole('menuitem', { name: 'Copy' }).click()
    await page.getByText('Value copied.').waitFor()
    return page.evaluate('navigator.clipboard.readText()')
  }
  await eventually(() => copied(3)).toBe(long('m'))
  await eventually(() => copied(4)).toBe(long('t'))
  await eventually(() => copied(5)).toBe('{\n  "status": 504\n}')
  await eventually(() => copied(6)).toBe('as it is')
  expect(tab.complaints).toEqual([])
})

it('shows the day of what is not of today, not only the time', async () => {
  await using dev = await startDev()
  const at = Date.now() - 3 * 86_400_000
  const event = { _time: new Date(at).toISOString(), level: 'info', message: 'of an earlier day' }
  await dev.ingest([{ level: 'info', message: 'of today' }])
  await using tab = await openTab(browser, dev, `events?from=${at - 1}&to=${at + 1}`)
  const { page } = tab
  await page.getByText('No event matches.').waitFor()
  await dev.ingest([event])
  const date = new Date(at)
  const day = [date.getMonth() + 1, date.getDate()].map(part => String(part).padStart(2, '0')).join('-')
  await page.getByText(`1 late event inserted, ${day} `).waitFor()
  await page.locator('.chip', { hasText: `${day} ` }).waitFor()
  await page.goto(`${dev.url}/dev/groups`)
  const group = page.getByRole('row', { name: 'of an earlier day' })
  await group.getByRole('cell', { name: day }).first().waitFor()
  expect(await group.getByRole('cell', { name: day }).count()).toBe(2)
  await page.getByText(`2 groups, ${day} `).waitFor()
})

it('has columns and facets of fields with any name, also after a reload', async () => {
  await using dev = await startDev()
  await dev.ingest([{ message: 'the only event', 'user id': 'ann', 'a,b': 'both' }])
  await using tab = await openTab(browser, dev)
  const { page } = tab
  await tab.shows('the only event')
  await page.getByText('View', { exact: true }).click()
  for (const name of ['user id', 'a,b']) await page.getByRole('checkbox', { name, exact: true }).check()
  await page.reload()
  await tab.shows('the only event')
  for (const name of ['user id', 'a,b']) await page.getByRole('columnheader', { name, exact: true }).waitFor()
  for (const value of ['ann', 'both']) await page.getByRole('gridcell', { name: value, exact: true }).waitFor()
  const facets = page.getByRole('complementary', { name: 'Facets' })
  await facets.getByRole('textbox').fill('user id')
  await facets.getByRole('textbox').press('Enter')
  await facets.getByRole('checkbox', { name: 'ann' }).click()
  await tab.hasQuery('-"user id":ann')
  await eventually(() => facets.getByRole('checkbox', { name: 'ann' }).isChecked()).toBe(false)
  await facets.getByRole('checkbox', { name: 'ann' }).click()
  await tab.hasQuery('')
  await tab.shows('the only event')
  await tab.search('"user id":ANN')
  await tab.shows('the only event')
  await eventually(() => facets.getByRole('checkbox', { name: /^ann$/i }).count()).toBe(1)
  expect(await facets.getByRole('checkbox', { name: 'ann' }).isChecked()).toBe(true)
  expect(tab.complaints).toEqual([])
})

it('has each dataset of a request in the list of the Requests tab, also if all its requests were refused', async () => {
  await using dev = await startDev(['--fault', 'status=503'])
  await dev.ingest([{ n: 1 }], 'refused')
  await using tab = await openTab(browser, dev, 'requests')
  const { page } = tab
  await page.getByLabel('Dataset').selectOption('refused')
  await eventually(() => page.locator('table.requests tbody tr').count()).toBe(1)
})

/** The rule of WebKit for copies. */
const copiesOnlyAtOnce = `{
  let isPermitted = false
  const permit = () => {
    isPermitted = true
    setTimeout(() => { isPermitted = false })
  }
  addEventListener('click', permit, true)
  addEventListener('keydown', permit, true)
  for (const name of ['write', 'writeText']) {
    const copy = Clipboard.prototype[name]
    Clipboard.prototype[name] = function (content) {
      return isPermitted ? copy.call(this, content) : Promise.reject(new DOMException('too late', 'NotAllowedError'))
    }
  }
}`

describe('the page', () => {
  let dev: Dev
  let tab: Tab
  shareAmongTests(async () => {
    await using started = new AsyncDisposableStack()
    dev = started.use(await startDev())
    await dev.ingest(eventsOfShop(), 'shop')
    await dev.ingest([{ level: 'info', message: 'token checked', service: 'auth' }], 'auth')
    tab = started.use(await openTab(browser, dev, 'events'))
    return started.move()
  })
  beforeEach(async () => {
    // A link of the page: it changes the place without loading the page again.
    await tab.press('Escape', 'Escape', 'Escape')
    await tab.page.getByRole('link', { name: 'logferry dev' }).click()
    await tab.shows('token checked', 'health check', 'uncaught ECONNREFUSED')
  })

  it('shows events newest first, and filters while a query is typed', async () => {
    const { page } = tab
    await tab.press('/')
    await page.keyboard.type('level:>=error', { delay: 10 })
    await tab.shows('uncaught ECONNREFUSED', 'payment timed out')
    await page.getByText('2 of 9 match').waitFor()
    await page.getByRole('button', { name: 'Remove level ≥ error' }).waitFor()
    await page.waitForURL(/\?q=level:/)
  })

  it('suggests fields and their values, and takes one with Tab', async () => {
    const { page } = tab
    await tab.press('/')
    await page.keyboard.type('http.sta')
    await page
      .getByRole('option', { name: /http\.status/ })
      .first()
      .waitFor()
    await tab.press('Tab')
    await eventually(() => page.locator('#query').inputValue()).toMatch(/^http\.status:/)
    await page.getByRole('option', { name: /^504/ }).click()
    await tab.hasQuery('http.status:504')
    await tab.shows('payment timed out')
    await tab.press('Enter', 'Escape')
  })

  it('switches a clause off and on by its chip, and removes it', async () => {
    const { page } = tab
    await tab.search('service:pay level:error')
    await tab.shows('payment timed out')
    await page
      .getByRole('button', { name: 'level = error', exact: true })
      .or(page.locator('.chip button[aria-pressed=true]').nth(1))
      .first()
      .click()
    await tab.hasQuery('service:pay')
    await tab.shows('uncaught ECONNREFUSED', 'payment timed out', 'retrying payment')
    await page.locator('.chip.off button[aria-pressed=false]').click()
    await tab.shows('payment timed out')
    await page.locator('.chip .remove').first().click()
    await tab.hasQuery('level:error')
  })

  it('switches alternatives on as they were, beside another clause', async () => {
    const { page } = tab
    await tab.search('level:error OR level:warn')
    await page.locator('.chip button[aria-pressed=true]').click()
    await tab.hasQuery('')
    await tab.search('service:pay')
    await page.locator('.chip.off button[aria-pressed=false]').click()
    await tab.hasQuery('service:pay (level:error OR level:warn)')
    await tab.shows('payment timed out', 'retrying payment')
  })

  it('says why nothing matches, and offers what would', async () => {
    const { page } = tab
    await tab.search('http.staus:504')
    await page.getByRole('heading', { name: 'No event matches.' }).waitFor()
    await page
      .getByText(/no event has a field/i)
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Show everything' }).click()
    await tab.shows('token checked')
  })

  it('corrects the name of a field, and keeps the rest of the query', async () => {
    const { page } = tab
    await tab.search('staus:504 payment')
    await page.getByRole('main').getByRole('button', { name: 'Search http.status:504 payment' }).click()
    await tab.hasQuery('http.status:504 payment')
    await tab.shows('payment timed out')
  })

  it('shows the view of a query in another script that is as long as queries may be', async () => {
    const { page } = tab
    const long = 'нет такого платежа '.repeat(420)
    await tab.search(long)
    await page.getByRole('heading', { name: 'No event matches.' }).waitFor()
    await eventually(() => Promise.resolve(page.url().length)).toBeGreaterThan(30_000)
    await page.reload()
    await page.getByRole('heading', { name: 'No event matches.' }).waitFor()
    await tab.hasQuery(long)
    await tab.search('')
  })

  it('includes and excludes values by the boxes of a facet', async () => {
    const { page } = tab
    const facets = page.getByRole('complementary', { name: 'Facets' })
    await facets.getByRole('checkbox', { name: 'info' }).click()
    await tab.shows('uncaught ECONNREFUSED', 'payment timed out', 'retrying payment', 'cache miss')
    await facets.getByRole('button', { name: 'error' }).click()
    await tab.shows('payment timed out')
    await tab.search('')
    await facets.getByRole('checkbox', { name: 'pay' }).click()
    await tab.hasQuery('-source:pay')
    await eventually(() => facets.getByRole('checkbox', { name: 'pay' }).isChecked()).toBe(false)
    await facets.getByRole('checkbox', { name: 'pay' }).click()
    await tab.hasQuery('')
    await facets.getByRole('textbox').fill('http.status')
    await facets.getByRole('textbox').press('Enter')
    await facets.getByRole('button', { name: '504' }).click()
    await tab.shows('payment timed out')
    await facets.getByRole('button', { name: 'Remove http.status' }).click()
  })

  it('excludes a value by Alt-click, adds one by Shift-click, and has a menu for the rest', async () => {
    const { page } = tab
    await page
      .locator('.row .text', { hasText: 'health check' })
      .first()
      .click({ modifiers: ['Alt'] })
    await tab.hasQuery('-message:"health check"')
    const clear = async () => {
      await page.getByRole('button', { name: 'Clear the query' }).click()
      await tab.shows(...messagesOfAll) // no row moves any more
    }
    await clear()
    await page.locator('.row:visible .text', { hasText: 'token checked' }).click({ modifiers: ['Shift'] })
    await tab.hasQuery('message:"token checked"')
    await clear()
    await page.locator('.row:visible .text', { hasText: 'cache miss' }).hover()
    await page.getByRole('button', { name: 'What to do with this value' }).click()
    await page.locator('[role=menuitem]:focus').waitFor()
    await tab.press('ArrowDown', 'Enter')
    await tab.hasQuery('-message:"cache miss"')
  })

  it('opens an event beside the list as a tree, as JSON and as it was sent', async () => {
    const { page } = tab
    await page.locator('.row:visible .text', { hasText: 'payment timed out' }).click()
    const panel = page.getByRole('complementary', { name: 'Event' })
    await panel.getByRole('heading', { name: 'payment timed out' }).waitFor()
    await panel.getByRole('treeitem', { name: /status\s*504/ }).waitFor()
    await panel.getByText('at pay (/app/src/pay.ts:42:7)').first().waitFor()
    await panel.getByRole('button', { name: '2 frames of Node and packages' }).first().click()
    await panel.getByText('node_modules/express').first().waitFor()
    await panel.getByRole('button', { name: 'JSON' }).click()
    await panel.getByText('"status": 504').waitFor()
    await panel.getByRole('button', { name: 'Raw line' }).click()
    await panel.getByText('"http":{"status":504}').waitFor()
    await panel.getByRole('button', { name: 'Copy' }).click()
    await page.getByText('JSON copied.').waitFor()
    const copied = JSON.parse(String(await page.evaluate('navigator.clipboard.readText()')))
    expect(copied).toMatchObject({ message: 'payment timed out', http: { status: 504 } })
    await panel.getByRole('button', { name: 'Tree' }).click()
    await panel.getByRole('treeitem', { name: /status\s*504/ }).hover()
    await panel.getByRole('button', { name: 'column' }).click()
    await page.getByRole('columnheader', { name: 'http.status' }).waitFor()
    expect(new URL(page.url()).searchParams.get('cols')).toBe('http.status')
    await panel.getByRole('treeitem', { name: /status\s*504/ }).hover()
    await panel.getByRole('button', { name: 'only' }).click()
    await tab.hasQuery('http.status:504')
    await tab.press('Escape')
    await eventually(() => panel.count()).toBe(0)
  })

  it('undoes a query that was typed by one step back', async () => {
    const { page } = tab
    await tab.press('/')
    await page.keyboard.type('payment')
    await page.waitForURL(/q=payment(&|$)/)
    await page.keyboard.type(' retrying')
    await page.waitForURL(/q=payment\+retrying(&|$)/)
    await tab.press('Enter', 'Escape')
    await tab.shows('retrying payment')
    await page.goBack()
    await tab.hasQuery('')
    await tab.shows('token checked')
  })

  it('searches for text that is selected', async () => {
    const { page } = tab
    await page.locator('.row:visible .text', { hasText: 'cache miss' }).click()
    const value = page.getByRole('treeitem', { name: /^service/ }).locator('.tree-value bdi')
    await value.dblclick()
    await page.getByRole('button', { name: 'Search this' }).click()
    await tab.hasQuery('"shop"')
    await page.getByText('3 of 9 match').waitFor()
  })

  it('opens an event as a page, whose address finds it again', async () => {
    const { page } = tab
    await page.locator('.row:visible .text', { hasText: 'order placed' }).click()
    await page.getByRole('link', { name: 'open as a page' }).click()
    await page.waitForURL(/\/dev\/event\/\w+\.\d+\?t=/)
    await page.getByRole('treeitem', { name: /id\s*42/ }).waitFor()
    const address = new URL(page.url())
    await page.goto(`${dev.url}/dev/event/another.1${address.search}`)
    await page.getByRole('treeitem', { name: /id\s*42/ }).waitFor()
    await tab.press('Escape')
    await tab.shows('token checked')
  })

  it('shows the list after an event that was opened as a page, although the stream opens late', async () => {
    const { page } = tab
    await page.locator('.row:visible .text', { hasText: 'order placed' }).click()
    await page.getByRole('link', { name: 'open as a page' }).click()
    await page.waitForURL(/\/dev\/event\/\w+\.\d+\?t=/)
    const opened = Promise.withResolvers<void>()
    await page.route(`**${paths.live}**`, async route => {
      await opened.promise
      await route.continue()
    })
    await page.reload()
    await page.getByRole('treeitem', { name: /id\s*42/ }).waitFor()
    await tab.press('Escape')
    await page.waitForURL(/\/dev\/events/)
    opened.resolve()
    await tab.shows('token checked')
  })

  it('brings back the view by a reload, the Back button and a pasted link', async () => {
    const { page } = tab
    await tab.search('service:pay')
    await tab.shows('uncaught ECONNREFUSED', 'payment timed out', 'retrying payment')
    await page.locator('.row:visible .text', { hasText: 'retrying payment' }).click()
    const heading = page.getByRole('complementary', { name: 'Event' }).getByRole('heading')
    await heading.waitFor()
    await page.reload()
    await tab.hasQuery('service:pay')
    await tab.shows('uncaught ECONNREFUSED', 'payment timed out', 'retrying payment')
    await eventually(() => heading.textContent()).toBe('retrying payment')
    await using other = await openTab(browser, dev, page.url().slice(`${dev.url}/dev/`.length))
    await other.shows('uncaught ECONNREFUSED', 'payment timed out', 'retrying payment')
    await other.page.getByRole('complementary', { name: 'Event' }).getByText('retrying payment').first().waitFor()
    await page.goBack()
    await eventually(() => heading.count()).toBe(0)
    await tab.hasQuery('service:pay')
    await page.goBack()
    await tab.hasQuery('')
    await tab.shows('token checked')
  })

  it('does the work of a day by keys alone', async () => {
    const { page } = tab
    await tab.press('e', 'Enter')
    const panel = page.getByRole('complementary', { name: 'Event' })
    await panel.getByRole('heading', { name: 'uncaught ECONNREFUSED' }).waitFor()
    await tab.press('e')
    await panel.getByRole('heading', { name: 'payment timed out' }).waitFor()
    await tab.press('w')
    await panel.getByRole('heading', { name: 'retrying payment' }).waitFor()
    await tab.press('k')
    await panel.getByRole('heading', { name: 'payment timed out' }).waitFor()
    await tab.press('y')
    await page.getByText('JSON copied.').waitFor()
    await tab.press('t')
    await page.getByRole('heading', { name: `Trace ${trace}` }).waitFor()
    await page.getByText('3 events, 2 sources').waitFor()
    const rows = await page.locator('table.trace tbody tr .wide').allTextContents()
    expect(rows).toEqual(['POST /pay', 'retrying payment', 'payment timed out'])
    await tab.press('Escape')
    await tab.press('Escape', 'g', 'j', 'x')
    await tab.hasQuery('-message:"health check"')
    await tab.shows('token checked', 'uncaught ECONNREFUSED')
    await tab.press('g', 'f')
    await tab.hasQuery('message:"token checked"')
    await tab.press('2')
    await page.getByRole('heading', { name: 'Requests' }).waitFor()
    await tab.press('1')
    await tab.press('?')
    await page.getByRole('dialog').getByText('next, previous error').waitFor()
    await tab.press('Escape')
    await eventually(() => page.getByRole('dialog').count()).toBe(0)
  })

  it('shows the context of an event: the same time without the filter', async () => {
    await tab.search('level:fatal')
    await tab.shows('uncaught ECONNREFUSED')
    await tab.press('j', 'v')
    await tab.hasQuery('')
    await tab.page.getByRole('button', { name: 'Show all times' }).first().waitFor()
    await eventually(() => tab.messages()).not.toContain('token checked')
    await eventually(() => tab.messages()).toContain('payment timed out')
  })

  it('selects a time by the arrow keys', async () => {
    const { page } = tab
    // The chart is that of the query that the test before has left, until the next tick.
    await page.getByRole('img', { name: /: 9, of them 2 errors/ }).waitFor()
    await tab.press('b')
    const from = page.getByRole('slider', { name: /^from/ })
    await from.waitFor()
    await eventually(() => from.evaluate(element => element === element.ownerDocument.activeElement)).toBe(true)
    await tab.press('Home', 'PageUp', 'Enter')
    await page.getByRole('button', { name: 'Show all times' }).first().waitFor()
    await eventually(() => tab.messages()).not.toContain('cache miss')
    await eventually(() => tab.messages()).toContain('token checked')
  })

  it('selects a time by a drag on the chart', async () => {
    const { page } = tab
    const box = await page.locator('.u-over').boundingBox()
    if (box === null) throw new Error('The chart is not on the screen.')
    await page.mouse.move(box.x + 2, box.y + 20)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width / 2, box.y + 24, { steps: 4 })
    await page.mouse.up()
    await page.getByRole('button', { name: 'Show all times' }).first().waitFor()
    await eventually(() => tab.messages()).not.toContain('token checked')
    await eventually(() => tab.messages()).toContain('order placed')
  })

  it('hides what has come so far, and brings it back', async () => {
    const { page } = tab
    await tab.press('c')
    await page.getByRole('heading', { name: 'No event matches.' }).waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await tab.shows('token checked', 'health check')
  })

  it('groups events by their statement, with links to an example', async () => {
    const { page } = tab
    await page.getByRole('link', { name: 'Groups' }).click()
    await page.getByText('8 groups').waitFor()
    const first = page.locator('tbody tr').first()
    await first.getByText('uncaught ECONNREFUSED').waitFor()
    await first.getByRole('link', { name: 'last' }).click()
    await page.getByRole('treeitem', { name: /message\s*uncaught/ }).waitFor()
    await page.getByRole('heading', { name: 'uncaught ECONNREFUSED' }).waitFor()
  })

  it('shows the request that brought an event, and the events of a request', async () => {
    const { page } = tab
    await page.getByRole('link', { name: 'Requests' }).click()
    await page.locator('table.requests tbody tr').first().getByRole('link').click()
    const request = page.getByRole('region', { name: /^Request \d+$/ })
    await request.getByText(/POST \/v1\/datasets\/\w+\/ingest/).waitFor()
    expect(await request.textContent()).not.toContain(dev.token)
    await request.getByRole('link', { name: 'Its events' }).click()
    await eventually(() => tab.messages()).toContain('token checked')
    await page.getByText('1 of 9 match').waitFor()
  })

  it('counts fields and bytes, and leads from there to the events', async () => {
    const { page } = tab
    await page.getByRole('link', { name: 'Fields' }).click()
    await page.getByRole('link', { name: 'shop' }).click()
    const field = page.locator('tbody tr', { hasText: 'http.status' })
    await field.getByText('number').waitFor()
    await page.reload()
    await field.getByText('number').waitFor()
    await page.getByRole('link', { name: 'Cost' }).click()
    const statement = page.locator('tbody tr', { hasText: 'order placed' })
    await statement.getByRole('link', { name: 'Show events' }).click()
    await tab.shows('order placed')
  })

  it('exports what matches as it was sent', async () => {
    const { page } = tab
    await tab.search('service:pay level:error')
    await tab.shows('payment timed out')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Export' }).click(),
    ])
    const chunks: Buffer[] = []
    for await (const chunk of await download.createReadStream()) chunks.push(chunk)
    const lines = Buffer.concat(chunks).toString().trim().split('\n')
    expect(lines.map(line => JSON.parse(line).message)).toEqual(['payment timed out'])
  })

  it('exports what is new after a mark, and counts the cost of the time that was chosen', async () => {
    const { page } = tab
    await tab.search('')
    await page.goto(`${dev.url}/dev/events?mark=1&q=is:new`)
    await tab.shows('token checked')
    const address = await page.getByRole('link', { name: 'Export' }).getAttribute('href')
    expect((await dev.raw(address ?? '')).body.trim().split('\n')).toHaveLength(messagesOfAll.length - 1)
    await page.goto(`${dev.url}/dev/cost?to=0`)
    await page.getByText('No event matches.').waitFor()
    await page.goto(`${dev.url}/dev/events`)
  })

  it('remembers the theme and other settings, and nothing that was logged', async () => {
    const { page } = tab
    await page.getByRole('button', { name: /^Theme/ }).click()
    await page.getByRole('button', { name: /^Theme/ }).click()
    await page.reload()
    await eventually(() => page.locator('html').getAttribute('data-theme')).toBe('dark')
    const stored = String(await page.evaluate('JSON.stringify(localStorage)'))
    expect(stored).not.toContain('ECONNREFUSED')
    expect(stored).not.toContain(dev.token)
    await page.getByRole('button', { name: /^Theme/ }).click()
  })

  it('keeps what another tab has set when this one sets something', async () => {
    const { page, context } = tab
    const other = await context.newPage()
    await other.goto(`${dev.url}/dev/events`)
    await other.getByRole('button', { name: /^Theme/ }).click()
    await eventually(() => other.locator('html').getAttribute('data-theme')).toBe('light')
    await tab.search('payment')
    await other.reload()
    await eventually(() => other.locator('html').getAttribute('data-theme')).toBe('light')
    expect(await page.locator('html').getAttribute('data-theme')).toBe('light')
    for (const _ of ['dark', 'auto']) await other.getByRole('button', { name: /^Theme/ }).click()
    await other.close()
  })

  it('leaves single keys alone if they are switched off', async () => {
    const { page } = tab
    await tab.press('?')
    await page.getByRole('checkbox', { name: 'Single keys act on the page' }).uncheck()
    await tab.press('Escape', 'c', '2')
    await tab.shows('token checked', 'health check')
    expect(new URL(page.url()).pathname).toBe('/dev/events')
    await page.getByRole('button', { name: 'Keys and settings' }).click()
    await page.getByRole('checkbox', { name: 'Single keys act on the page' }).check()
    await tab.press('Escape')
  })

  it('has said nothing in the console of the browser, and asked nobody else for anything', () => {
    expect(tab.complaints).toEqual([])
    expect(tab.requests.filter(url => !url.startsWith(`${dev.url}/dev/`))).toEqual([])
    expect(tab.requests.some(url => url.includes(paths.live))).toBe(true)
  })
})

describe('the Cost tab', () => {
  it('tells what a sample of a frequent statement would save, and advises to sample no error', async () => {
    await using dev = await startDev()
    const many = Array.from({ length: 60 }, (_, n) => ({ level: n < 20 ? 'error' : 'info', message: `tick ${n}` }))
    await dev.ingest(many)
    await using tab = await openTab(browser, dev, 'cost?q=tick')
    const statement = (level: string) => tab.page.locator('tbody tr', { hasText: level })
    await statement('INFO').getByText('sample 1 in 10: saves 60 % of these bytes', { exact: true }).waitFor()
    expect(await statement('ERROR').textContent()).not.toContain('sample')
    // The month is known for all events only.
    await tab.search('')
    await tab.page.getByText(/sample 1 in 10: saves 60 % of these bytes, [\d.]+ .B a month/).waitFor()
  })
})
