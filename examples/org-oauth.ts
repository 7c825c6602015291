/**
 * The organization, read and updated with an OAuth 2.0 access token: obtained from an authorization server by client
 * credentials, and renewed when the service refuses it.
 *
 *     npx node examples/org-oauth.ts
 */
import { startEmulator } from 'logferry/emulator'
import { createOrgClient, type ObtainAccessToken } from 'logferry/org'
import * as oauth from 'oauth4webapi'
import { startAuthorizationServer } from './support/authorization-server.ts'

// The service and the authorization server that it trusts, in this process. With an account of your own: leave them out.
const emulator = await startEmulator()
const authorizationServer = await startAuthorizationServer(token => emulator.addToken({ kind: 'access', token }))
const { issuer, clientId, clientSecret } = authorizationServer.registration

const loopback = { [oauth.allowInsecureRequests]: true } // plain http, which only this example needs
const discovery = await oauth.discoveryRequest(issuer, loopback)
const server = await oauth.processDiscoveryResponse(issuer, discovery)

const client: oauth.Client = { client_id: clientId }
const secret = oauth.ClientSecretBasic(clientSecret)

const accessToken: ObtainAccessToken = async ({ renew, signal }) => {
  const response = await oauth.clientCredentialsGrantRequest(server, client, secret, {}, { ...loopback, signal })
  const token = await oauth.processClientCredentialsResponse(server, client, response)
  console.log(`${renew ? 'another' : 'an'} access token, for ${token.expires_in} s`)
  return token.access_token
}

const orgs = createOrgClient({ baseUrl: emulator.url, accessToken })

const org = await orgs.get(emulator.orgId)
console.log(`${org.name}: plan ${org.plan}, payments ${org.paymentStatus}`)
console.dir(org.license)

// The token ends; the next request is refused, and sent again with another one.
for (const token of authorizationServer.issued) emulator.revokeToken(token)

const updated = await orgs.update(emulator.orgId, { name: 'Shipping Department', region: 'eu-central-1' })
console.log(`${updated.name}, in ${updated.defaultRegion} since ${updated.metaModified}`)

await orgs.close()
await authorizationServer.close()
await emulator.close()
