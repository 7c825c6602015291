import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { License, Org } from '../../src/org.ts'

/** A service that answers as a test says. It need not follow the specification. */
export interface Service extends AsyncDisposable {
  readonly url: string
  /** The requests: method, path, headers and body. */
  readonly requests: readonly Received[]
}

export interface Received {
  readonly line: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

type Reply = (response: ServerResponse, received: Received, nth: number) => void

export async function startService(reply: Reply): Promise<Service> {
  const requests: Received[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const received = { line: `${request.method} ${request.url}`, headers: request.headers, body }
    reply(response, received, requests.push(received))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** A service that gives every request the same answer. */
export function startAnswering(status: number, body: unknown, headers: Record<string, string> = {}): Promise<Service> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return startService(response => response.writeHead(status, headers).end(text))
}

/** Returns a valid answer with other fields. `undefined` omits a field, in `license` too. */
export function orgWith(fields: Record<string, unknown> = {}): Record<string, unknown> {
  return { ...specifiedOrg, ...fields }
}

const specifiedLicense: Required<License> = {
  id: 'license-1',
  issuer: 'the service',
  issuedTo: 'acme',
  issuedAt: '2026-01-01T00:00:00Z',
  validFrom: '2026-01-02T00:00:00.000Z',
  expiresAt: '2027-01-01T00:00:00+01:00',
  billingPeriodStart: '2026-11-01',
  billingPeriodEnd: '2026-12-01T00:00:00.123456789Z',
  defaultRegion: 'us-east-1',
  regions: ['us-east-1', 'eu-central-1'],
  tier: 'personal',
  features: { alerting: true, seats: { most: 5 } },
  withAuths: ['email'],
  apiRateLimitPerSecond: 1,
  maxAuditWindowSeconds: 2,
  maxQueryWindowSeconds: 3,
  maxDatasets: 4,
  maxEndpoints: 5,
  maxFields: 6,
  maxMonitors: 7,
  maxUsers: 8,
  monthlyIngestGb: 9,
  monthlyQueryGbHours: 10,
  storageAllowanceGB: 11,
}

/** Returns every field of the specification's two tables. */
export const specifiedOrg: Required<Org> & { license: Required<License> } = {
  id: 'acme',
  name: 'Acme',
  lastUsageSync: 'yesterday',
  license: specifiedLicense,
  paymentStatus: 'success',
  plan: 'acmeCloud',
  planCreated: 'last year',
  primaryEmail: 'owner@acme.example',
  defaultRegion: 'us-east-1',
  firstFailedPayment: 'never',
  metaCreated: '0',
  metaModified: '1',
  metaVersion: '2',
  role: 'owner',
}
