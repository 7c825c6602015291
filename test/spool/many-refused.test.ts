/** Datasets that the service refuses, more than memory has room for, beside one that it accepts. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createShipper } from '../../src/index.ts'
import { nextTurn } from '../../src/time.ts'

it('spooled events of an accepted dataset are delivered, however many datasets are refused, and those of the others later', async () => {
  let isUp = false
  let isRefusing = true
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      if (!isUp) return void request.socket.destroy()
      response.writeHead(isRefusing && request.url?.includes('refused') ? 403 : 200).end('{}')
    })
  }).listen(0, '127.0.0.1')
  await expect.poll(() => server.listening).toBe(true)
  const directory = mkdtempSync(join(tmpdir(), 'logferry-many-refused-'))
  const shipper = createShipper({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: 'a-token-of-tests',
    dataset: ({ dataset }) => String(dataset),
    spool: { directory: join(directory, 'spool') },
    maxBatchBytes: 65_536,
    maxBufferedBytes: 524_288,
  })
  shipper.on('warning', () => {})
  const text = 'x'.repeat(2000)
  for (let n = 0; n < 40; n++) {
    for (let refused = 0; refused < 40; refused++) shipper.ship({ dataset: `refused${refused}`, text })
    shipper.ship({ dataset: 'accepted', text })
    await nextTurn()
  }
  expect(shipper.stats()).toMatchObject({ dropped: 0, pending: 40 * 41 })
  isUp = true
  await expect.poll(() => shipper.stats().datasets.accepted?.delivered, { timeout: 10_000 }).toBe(40)
  expect(shipper.stats().delivered).toBe(40)
  isRefusing = false
  await expect.poll(() => shipper.stats().pending, { timeout: 20_000 }).toBe(0)
  expect(shipper.stats().dropped).toBe(0)
  await shipper.close({ timeoutMs: 0 })
  server.close()
  rmSync(directory, { recursive: true })
})
