/** The client of the dev service, against services that are none. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { DevClient, ServiceTrouble } from '../../src/cli/events/dev-client.ts'
import { follow } from '../../src/cli/events/follow.ts'
import { NewestEvents, newestEvents } from '../../src/cli/events/search.ts'
import { getEvent } from '../../src/cli/mcp/event-tools.ts'
import { listErrors } from '../../src/cli/mcp/summary-tools.ts'
import { startEmulator } from '../../src/emulator.ts'
import { hostileText, unprintable } from '../support/hostile-text.ts'

/** A client of a service that answers so. */
async function startClient(answer: RequestListener) {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    client: new DevClient({ url: new URL(`http://127.0.0.1:${port}`), token: undefined }),
    [Symbol.dispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Reads events from a service that answers so. Returns the trouble. */
async function troubleWith(answer: RequestListener, limit = 1): Promise<ServiceTrouble> {
  using started = await startClient(answer)
  const trouble = await started.client.events({ limit }).catch((error: unknown) => error)
  expect(trouble).toBeInstanceOf(ServiceTrouble)
  return trouble as ServiceTrouble
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
const whole = { ...event, line: '{}' }

/** Answers with pages of events, and counts the requests. */
function pages(pageOf: (order: string, request: number) => object): { listener: RequestListener; requests: number } {
  const served = {
    requests: 0,
    listener: ((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://a')
      served.requests++
      const isSummary = pathname.endsWith('/summary')
      const page = () => ({ ...answer, ...pageOf(searchParams.get('order') ?? '', served.requests) })
      response.end(JSON.stringify(isSummary ? { epoch: 'a', newest: 5, kept: 5, forgotten: 0, errors: 0 } : page()))
    }) satisfies RequestListener,
  }
  return served
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

  it('knows that an emulator is no dev service', async () => {
    await using emulator = await startEmulator()
    const client = new DevClient({ url: new URL(emulator.url), token: undefined })
    await expect(client.events({ limit: 1 })).rejects.toThrow(/answers 404, and is no dev service\. Start one with/)
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

describe('reading page after page from a service that lies', () => {
  const search = { q: '', dataset: undefined, from: undefined, to: undefined, limit: 1000 }
  const never = new AbortController().signal

  it.each([
    ['empty pages without end', { next: 4 }],
    ['the same page again and again', { next: 4, events: [whole] }],
    ['more events than were asked for', { next: null, events: Array.from({ length: 1001 }, () => whole) }],
    ['an id that is none', { next: null, events: [{ ...whole, id: '\u001b[2J.1' }] }],
  ])('ends a search at %s', async (_, page) => {
    const served = pages(() => page)
    using started = await startClient(served.listener)
    await expect(newestEvents(started.client, search, never)).rejects.toThrow('not as a dev service of this version')
    expect(served.requests).toBeLessThanOrEqual(2)
  })

  it.each([
    ['empty earlier pages', 100, { next: 4 }],
    ['the same events again and again', 0, { next: 1, events: [whole] }],
    ['events that do not say how to go on', 0, { next: null, events: [whole] }],
  ])('ends tail at %s', async (_, last, page) => {
    const served = pages(order => (order === 'desc' && last === 0 ? { next: null } : page))
    using started = await startClient(served.listener)
    const followed = async () => {
      for await (const _ of follow(started.client, { q: '', dataset: undefined, last, signal: never }));
    }
    await expect(followed()).rejects.toThrow('not as a dev service of this version')
    expect(served.requests).toBeLessThanOrEqual(4)
  })

  it('ends tail if the service restarts with each answer', async () => {
    const served = pages((_, request) => ({ epoch: `run${request}`, next: null }))
    using started = await startClient(served.listener)
    const first = follow(started.client, { q: '', dataset: undefined, last: 0, signal: never }).next()
    await expect(first).rejects.toThrow('the service restarts again and again')
    expect(served.requests).toBe(6)
  })

  it.each([
    ['nothing at once, in place of waiting', () => ({ next: 5 })],
    ['each time as after a restart', (request: number) => ({ epoch: `run${request}`, next: 5 + request })],
  ])('does not flood a service that answers %s', async (_, page) => {
    const served = pages((order, request) => (order === 'desc' ? { next: null } : page(request)))
    using started = await startClient(served.listener)
    const stop = new AbortController()
    setTimeout(() => stop.abort(), 500)
    const followed = async () => {
      for await (const _ of follow(started.client, { q: '', dataset: undefined, last: 0, signal: stop.signal }));
    }
    await expect(followed()).rejects.toThrow(/abort/i)
    expect(served.requests).toBeLessThan(10)
  })

  it.each([
    ['id', { id: hostileText('id') }, {}],
    ['id of an example', {}, { lastId: 'x'.repeat(100_000) }],
    ['level', {}, { level: hostileText('level') }],
  ])('gives a coding agent no text as an %s that is none', async (_, inEvent, inGroup) => {
    const group = {
      statement: 's',
      dataset: 'd',
      level: 'error',
      count: 1,
      first: 1,
      last: 1,
      lastId: 'a.1',
      isNew: true,
    }
    const groups = [{ ...group, errorType: null, topFrame: null, message: 'm', ...inGroup }]
    const body = { ...whole, request: null, bytes: 2, groups, total: 1, reading: answer.reading, ...inEvent }
    using started = await startClient((_, response) => response.end(JSON.stringify(body)))
    const asked = [
      getEvent.run({ id: 'a.1', offset: 0 }, started.client, never),
      listErrors.run({ only_new: false, limit: 1 }, started.client, never),
    ]
    const refused = (await Promise.allSettled(asked)).filter(({ status }) => status === 'rejected')
    expect(refused).toMatchObject([{ reason: { message: expect.stringContaining('cannot read') } }])
  })

  it('holds no more than 256 MB of texts, whichever texts of an event are long', () => {
    const newest = new NewestEvents(1000)
    const message = 'm'.repeat(50_000_000)
    for (let at = 0; at < 100; at++) newest.add({ ...whole, at, message })
    const { events, notices } = newest.result()
    expect(events).toHaveLength(5)
    expect(notices).toEqual([expect.stringMatching(/the newest 5\. Narrow --since/)]) // a higher --limit finds no more
  })

  it('says that earlier events are left out of `tail --last` because of this bound', async () => {
    const message = 'm'.repeat(60_000_000)
    // Without a connection: 300 MB would take it 10 s.
    const client: Pick<DevClient, 'summary' | 'events'> = {
      summary: async () => ({ epoch: 'e', newest: 100 }) as never,
      events: async ({ before }) =>
        ({ epoch: 'e', events: [{ ...whole, message }], next: (before as number) - 1 }) as never,
    }
    const options = { q: '', dataset: undefined, last: 1000, signal: never }
    const { value } = await follow(client as DevClient, options).next()
    expect(value?.events).toHaveLength(5)
    expect(value?.notices).toEqual(['more earlier events match than the newest 5. Narrow the query for others.'])
  })
})
