import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'
import { post } from './wire.ts'

const emulator = await startEmulator()
afterAll(() => emulator.close())
beforeEach(() => emulator.clear())

async function page(): Promise<string> {
  const response = await fetch(emulator.url, { headers: { accept: 'text/html,*/*' } })
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
  return response.text()
}

describe('the page', () => {
  it('says that nothing has arrived', async () => {
    expect(await page()).toContain('Nothing has arrived yet.')
  })

  it('shows the count and the last 20 events of each dataset', async () => {
    await post(emulator, { body: Array.from({ length: 15 }, (_, n) => ({ n })) })
    await post(emulator, { body: Array.from({ length: 15 }, (_, n) => ({ n: n + 15 })) })
    await post(emulator, { dataset: 'other' })
    const html = await page()
    expect(html).toContain('checkout <small>30 events')
    expect(html).toContain('other <small>1 event<')
    const shown = [...html.matchAll(/\{&#34;n&#34;:(\d+)\}/g)].map(match => Number(match[1]))
    expect(shown).toEqual([...Array.from({ length: 20 }, (_, n) => n + 10), 1])
  })

  it('escapes logged texts, and cuts long ones', async () => {
    const dataset = '<img src=x onerror=alert(1)>'
    await post(emulator, {
      dataset,
      body: [{ message: '</pre><script>alert("1")</script>' }, { long: 'x'.repeat(9000) }],
    })
    const html = await page()
    expect(html).not.toMatch(/<script|<img/)
    expect(html).toContain('&#60;script&#62;')
    expect(html.length).toBeLessThan(5000)
  })

  it('shows no token, not even a logged one, and no organization', async () => {
    await post(emulator, {
      dataset: emulator.token,
      body: [{ token: emulator.token, long: 'x'.repeat(1960) + emulator.token }],
    })
    const html = await page()
    expect(html).toContain('(redacted)')
    for (const secret of [emulator.token.slice(0, 20), emulator.orgId, emulator.org().primaryEmail]) {
      expect(html).not.toContain(secret)
    }
  })
})

it('is a JSON object if the client does not ask for HTML, without tokens', async () => {
  await post(emulator)
  await post(emulator, { dataset: `of ${emulator.token}` })
  const response = await fetch(emulator.url)
  expect(response.headers.get('content-type')).toBe('application/json')
  const { datasets } = (await response.json()) as { datasets: unknown[] }
  expect(datasets).toContainEqual({ name: 'checkout', events: 1 })
  expect(datasets).toContainEqual({ name: 'of (redacted)', events: 1 })
})
