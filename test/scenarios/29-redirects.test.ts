import { describe, expect, it } from 'vitest'
import { core, environmentFor } from '../exit/running.ts'
import { startFaultServer } from '../support/fault-server.ts'
import { allOnce, tally, watched } from '../support/laws.ts'
import { runScript } from '../support/run-script.ts'

const statuses = [300, 301, 302, 303, 307, 308]

/** A server that redirects requests to another server, which must never get one, until `takeRequests()`. */
async function redirecting(status: number, locationOf: (elsewhere: string) => string) {
  const elsewhere = await startFaultServer(request => request.isWhole && request.take())
  const location = locationOf(elsewhere.url)
  let redirects = true
  const server = await startFaultServer(request => {
    if (!request.isWhole) return
    if (!redirects) request.take()
    else request.answer(`${status} Moved`, '<a href="https://x">here</a>', `location: ${location}`)
  })
  return Object.assign(server, {
    elsewhere,
    takeRequests() {
      redirects = false
    },
    async [Symbol.asyncDispose]() {
      await server.close()
      await elsewhere.close()
    },
  })
}

describe.concurrent('scenario 29: a redirect is never followed', () => {
  it.each(statuses)('%i to another host: reported, the token is not sent there, and no event is lost', async status => {
    await using server = await redirecting(status, elsewhere => `${elsewhere}/v1/datasets/d/ingest?token=secret`)
    await using logs = watched({ baseUrl: server.url })
    logs.log(0, 10)
    expect(await logs.flush(200)).toEqual({ complete: false, pending: 10 })
    const warning = await logs.whenWarned()
    expect(server.elsewhere.connections).toBe(0)
    expect(warning.code).toBe('LOGFERRY_PAUSED')
    expect(warning.message).toContain(`redirects to ${server.elsewhere.url})`)
    expect(warning.message).not.toContain('secret')
    server.takeRequests()
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(tally(server.numbers, 10)).toEqual(allOnce)
  })

  it.each([
    'http://127.0.0.1.nip.example/',
    '//elsewhere.example/x',
    '/v1/datasets/e/ingest',
    'javascript:1',
    '%%%',
    '',
  ])('307 to %j: reported, and no event is lost', async location => {
    await using server = await redirecting(307, () => location)
    await using logs = watched({ baseUrl: server.url })
    logs.log(0)
    expect(await logs.flush(200)).toEqual({ complete: false, pending: 1 })
    await logs.whenWarned()
    expect(logs.warnings).toHaveLength(1)
    server.takeRequests()
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(server.requests.every(({ head }) => head.startsWith('POST /v1/datasets/d/ingest '))).toBe(true)
  })

  it.each([301, 307])('%i at process.exit(): not followed there either', async status => {
    await using server = await redirecting(status, elsewhere => elsewhere)
    const { stderr } = await runScript(`${core()} log(0, 3); process.exit()`, environmentFor(server))
    expect(server.elsewhere.connections).toBe(0)
    expect(stderr).toContain('Redirects are not followed')
    expect(stderr).toContain('3 events could not be delivered')
  })
})
