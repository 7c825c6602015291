import { ownProperties } from '../own-properties.ts'
import { checkKeys, checkNames, checkOneOf, mistake } from './checks.ts'
import type { TokenGrant } from './tokens.ts'

const kinds = ['api', 'personal', 'access']
const actions = ['ingest', 'org:read', 'org:write']
const ofEach = ['kind', 'token', 'orgs']
const ofApi = [...ofEach, 'actions', 'datasets']

/** Returns a copy of the grant. Throws if the grant is invalid; no error contains the token itself. */
export function checkGrant(name: string, given: TokenGrant): TokenGrant {
  if (typeof given !== 'object' || given === null) throw new TypeError(`${name} must be an object`)
  const grant = ownProperties(given)
  checkOneOf(`${name}.kind`, grant.kind, kinds)
  checkKeys(name, grant, grant.kind === 'api' ? ofApi : ofEach)
  if (grant.token !== undefined && !(typeof grant.token === 'string' && /^[\x21-\x7e]+$/.test(grant.token))) {
    const message = `${name}.token must be a non-empty string of visible ASCII characters`
    throw typeof grant.token === 'string' ? new RangeError(message) : new TypeError(message)
  }
  checkNames(`${name}.orgs`, grant.orgs ?? '*')
  if (grant.kind !== 'api') return grant
  checkNames(`${name}.datasets`, grant.datasets ?? '*')
  if (!Array.isArray(grant.actions)) throw mistake(`${name}.actions`, `a list of ${actions.join(', ')}`, grant.actions)
  for (const action of grant.actions) checkOneOf(`${name}.actions`, action, actions)
  return grant
}
