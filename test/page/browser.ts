import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { expect, vi } from 'vitest'
import type { Dev } from '../dev/service.ts'

export interface PageOptions {
  readonly width?: number
  readonly height?: number
  /** True if the page may move what it shows. */
  readonly moves?: boolean
}

/** A tab of a real browser that shows the page of a dev service. */
export interface Tab extends AsyncDisposable {
  readonly page: Page
  readonly context: BrowserContext
  /** What the browser has said in its console, and errors of scripts. */
  readonly complaints: string[]
  /** Addresses that the page has asked for. */
  readonly requests: string[]
  /** The message of each row that is on the screen. */
  messages(): Promise<string[]>
  /** Waits until the first rows have these messages. */
  shows(...messages: string[]): Promise<void>
  /** Presses keys, one after the other. */
  press(...keys: string[]): Promise<void>
  /** Waits until the text of the query is this. */
  hasQuery(q: string): Promise<void>
  /** Types a query in place of the one that stands there, and runs it. */
  search(q: string): Promise<void>
}

/** Longest wait, in milliseconds. Other tests use the processors meanwhile. */
const patienceMs = 30_000

type Poll<T> = ReturnType<typeof expect.poll<T>>

/**
 * Waits until what the function returns is as expected. `expect.poll` does the same, but not in tests that run at the
 * same time.
 */
export function eventually<T>(read: () => T): Poll<T> {
  const matchersOf = (isNot: boolean) =>
    new Proxy({} as Poll<T>, {
      get: (_, name) => {
        if (name === 'not') return matchersOf(true)
        const attempt = async (expected: readonly unknown[]) => {
          const assertion = expect(await read())
          const matchers = isNot ? assertion.not : assertion
          Reflect.apply(Reflect.get(matchers, name), matchers, expected)
        }
        return (...expected: unknown[]) => vi.waitFor(() => attempt(expected), { timeout: patienceMs })
      },
    })
  return matchersOf(false)
}

/** Starts Chromium: the one without windows, which takes half as much of the processor, if it is installed. */
export function startBrowser(args: readonly string[] = []): Promise<Browser> {
  const shell = '/usr/bin/chromium-headless-shell'
  const executablePath = existsSync(shell) ? shell : '/usr/bin/chromium'
  return chromium.launch({ executablePath, args: ['--no-sandbox', ...args] })
}

export async function openTab(
  browser: Browser,
  dev: Pick<Dev, 'url'>,
  path = 'events',
  options: PageOptions = {},
): Promise<Tab> {
  const { width = 1440, height = 900, moves = false } = options
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: 'light',
    reducedMotion: moves ? 'no-preference' : 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const page = await context.newPage()
  page.setDefaultTimeout(patienceMs)
  const complaints: string[] = []
  const requests: string[] = []
  page.on('console', message => complaints.push(`${message.type()}: ${message.text()}`))
  page.on('pageerror', error => complaints.push(String(error)))
  page.on('request', request => requests.push(request.url()))
  await page.goto(`${dev.url}/dev/${path}`)
  const messages = () => page.locator('#list .space > .row:visible .text').allTextContents()
  return {
    page,
    context,
    complaints,
    requests,
    messages,
    async shows(...expected) {
      await eventually(async () => (await rowsInOrder(page)).slice(0, Math.max(expected.length, 1))).toEqual(expected)
    },
    async press(...keys) {
      for (const key of keys) await page.keyboard.press(key)
    },
    async hasQuery(q) {
      await eventually(() => page.locator('#query').inputValue()).toBe(q)
    },
    async search(q) {
      await page.locator('#query').fill(q)
      await page.locator('#query').press('Enter')
      await page.locator('#query').press('Escape')
    },
    [Symbol.asyncDispose]: () => context.close(),
  }
}

/** The messages of the rows, from the newest: the elements of the rows are recycled, so their order means nothing. */
function rowsInOrder(page: Page): Promise<string[]> {
  return page.locator('#list .space > .row:visible').evaluateAll(rows =>
    rows
      .map(row => [Number(row.ariaRowIndex), row.querySelector('.text')?.textContent ?? ''] as const)
      .sort(([one], [other]) => one - other)
      .map(([, text]) => text),
  )
}
