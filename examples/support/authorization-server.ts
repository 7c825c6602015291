/** A real OAuth 2.0 authorization server on a loopback port, with one client that may ask for tokens of its own. */
import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
// @ts-expect-error: the package has no types of its own
import Provider from 'oidc-provider'

/** What a client is told when it is registered. */
export interface Registration {
  readonly issuer: URL
  readonly clientId: string
  readonly clientSecret: string
}

export interface AuthorizationServer {
  readonly registration: Registration
  /** Access tokens issued so far. */
  readonly issued: readonly string[]
  close(): Promise<void>
}

/** @param onIssued told each access token before its client gets it; a service that trusts the server accepts it */
export async function startAuthorizationServer(onIssued: (token: string) => void): Promise<AuthorizationServer> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const clientId = randomUUID()
  const clientSecret = randomBytes(32).toString('base64url')
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const provider = new Provider(issuer.origin, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
    ],
    features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
    ttl: { ClientCredentials: 600 },
    jwks: { keys: [privateKey.export({ format: 'jwk' })] },
    adapter: NoStorage,
  })
  const issued: string[] = []
  provider.on('client_credentials.saved', ({ jti }: { jti: string }) => {
    issued.push(jti)
    onIssued(jti)
  })
  server.on('request', provider.callback())
  return {
    registration: { issuer, clientId, clientSecret },
    issued,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Nobody asks the server about a token later, so it keeps none. */
class NoStorage {
  async upsert(): Promise<void> {}
  async find(): Promise<void> {}
}
