import * as oauth from 'oauth4webapi'
import { expect, it } from 'vitest'
import { startAuthorizationServer } from '../../examples/support/authorization-server.ts'
import { startEmulator } from '../../src/emulator.ts'
import { createOrgClient, type ObtainAccessToken } from '../../src/org.ts'

/** The service, an authorization server that it trusts, and a client with client credentials. */
async function startOAuth() {
  const emulator = await startEmulator()
  const server = await startAuthorizationServer(token => emulator.addToken({ kind: 'access', token }))
  const { issuer, clientId, clientSecret } = server.registration
  const loopback = { [oauth.allowInsecureRequests]: true }
  const discovered = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, loopback))
  const obtain = (secret: string): ObtainAccessToken => {
    const client = { client_id: clientId }
    const authentication = oauth.ClientSecretBasic(secret)
    return async ({ signal }) => {
      const options = { ...loopback, signal }
      const response = await oauth.clientCredentialsGrantRequest(discovered, client, authentication, {}, options)
      return (await oauth.processClientCredentialsResponse(discovered, client, response)).access_token
    }
  }
  return {
    emulator,
    clientSecret,
    issued: server.issued,
    endTokens: () => server.issued.forEach(token => void emulator.revokeToken(token)),
    connect: (secret = clientSecret) => createOrgClient({ baseUrl: emulator.url, accessToken: obtain(secret) }),
    async [Symbol.asyncDispose]() {
      await server.close()
      await emulator.close()
    },
  }
}

it('an access token obtained by client credentials reads and updates, and is renewed once when it expires', async () => {
  await using service = await startOAuth()
  await using client = service.connect()
  const { orgId } = service.emulator

  expect(await client.get(orgId)).toStrictEqual(service.emulator.org())
  expect(await client.update(orgId, { name: 'Renamed' })).toMatchObject({ name: 'Renamed' })
  expect(service.issued).toHaveLength(1)

  service.endTokens()
  expect(await client.get(orgId)).toMatchObject({ name: 'Renamed' })
  expect(service.issued).toHaveLength(2)

  service.endTokens()
  await Promise.all(Array.from({ length: 10 }, () => client.get(orgId)))
  expect(service.issued).toHaveLength(3)
  expect(new Set(service.issued).size).toBe(3)
})

it('a refusal of the authorization server is TOKEN_UNAVAILABLE, with its reason as the cause', async () => {
  await using service = await startOAuth()
  await using client = service.connect('wrong-secret')
  await expect(client.get(service.emulator.orgId)).rejects.toMatchObject({
    code: 'TOKEN_UNAVAILABLE',
    cause: { name: expect.stringMatching(/Error/), message: expect.stringContaining('WWW-Authenticate') },
  })
  expect(service.emulator.requests()).toEqual([])
})
