/** The client of the dev service, against services that are none. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { DevClient, ServiceTrouble } from '../../src/cli/events/dev-client.ts'
import { hostileText, unprintable } from '../support/hostile-text.ts'

/** Reads events from a service that answers so. Returns the trouble. */
async function troubleWith(answer: RequestListener, limit = 1): Promise<ServiceTrouble> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = new DevClient({ url: new URL(`http://127.0.0.1:${port}`), token: undefined })
  try {
    const trouble = await client.events({ limit }).catch((error: unknown) => error)
    expect(trouble).toBeInstanceOf(ServiceTrouble)
    return trouble as ServiceTrouble
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

const event = {
  id: 'a.1',
  n: 1,
  at: 1,
  receivedAt: 1,
  dataset: 'd',
  source: null,
  level: null,
  message: '',
  traceId: null,
}
const answer = {
  epoch: 'a',
  events: [],
  next: 0,
  newest: 0,
  forgotten: 0,
  reading: { clauses: [], notes: [], highlight: [] },
}

describe('the client of the dev service', () => {
  it.each([
    ['no JSON', '<html>'],
    ['a list', '[]'],
    ['events that are none', JSON.stringify({ ...answer, events: [event] })],
    ['numbers as texts', JSON.stringify({ ...answer, next: '0' })],
    ['nothing', ''],
  ])('refuses %s as an answer, and names the remedy', async (_, body) => {
    const trouble = await troubleWith((_, response) => response.end(body))
    expect(trouble.message).toMatch(/Start one with 'logferry dev', or name its address with --url\.$/)
    expect(trouble.mayPass).toBe(false)
  })

  it('stops reading an answer without end', async () => {
    const piece = Buffer.alloc(1_048_576, 32)
    const trouble = await troubleWith((_, response) => {
      const write = () => {
        while (!response.destroyed && response.write(piece));
      }
      response.on('drain', write).on('error', () => {})
      write()
    })
    expect(trouble.message).toMatch(/^the answer has more than 67,108,864 bytes\. Narrow the query\.$/)
  })

  it('asks for fewer events if an answer is too large', async () => {
    const limits: string[] = []
    const long = Buffer.alloc(80_000_000, 'x')
    await troubleWith((request, response) => {
      const limit = new URL(request.url ?? '', 'http://a').searchParams.get('limit') ?? ''
      limits.push(limit)
      response.end(Number(limit) > 1 ? long : 'small')
    }, 8)
    expect(limits).toEqual(['8', '2', '1'])
  })

  it('follows no redirect', async () => {
    const paths: (string | undefined)[] = []
    const trouble = await troubleWith((request, response) => {
      paths.push(request.url)
      response.writeHead(302, { location: '/elsewhere' }).end()
    })
    expect(paths).toEqual(['/dev/api/events?limit=1'])
    expect(trouble.message).toMatch(/answers 302, and is no dev service/)
  })

  it('makes the words of a refusal harmless', async () => {
    const said = hostileText('foreign-host')
    const trouble = await troubleWith((_, response) => {
      response.writeHead(403).end(JSON.stringify({ code: said.slice(0, 300), message: said.slice(0, 3000) }))
    })
    expect(trouble.message).toMatch(/refuses the request \(403 foreign-host/)
    expect(trouble.message).not.toMatch(unprintable)
    expect(trouble.message).not.toContain('\n')
    expect(trouble.message.length).toBeLessThan(3000)
  })
})
