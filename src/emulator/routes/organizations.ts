import { isUtf8 } from 'node:buffer'
import { ownProperties } from '../../own-properties.ts'
import { systemTimeMs } from '../../time.ts'
import { type Answer, type Ending, json, refusal } from '../answer.ts'
import { type BodyReading, readBody } from '../body.ts'
import type { Exchange } from '../exchange.ts'
import { nestingProblem } from '../find-events.ts'
import { isJsonObject, malformedJson, parsedJson } from '../json-text.ts'
import { checkMediaType } from '../media-type.ts'
import type { Organizations } from '../organizations.ts'
import type { EventBounds } from '../spans.ts'

/** Maximum size of a decoded update, in bytes. An update contains two short strings. */
const maxUpdateBytes = 65_536

export function readOrganization(organizations: Organizations, orgId: string): Answer {
  const org = organizations.get(orgId)
  return org ? json(200, org) : unknownOrg()
}

/** Updates an organization. The specification does not define `region` in an update; here it sets `defaultRegion`. */
export async function updateOrganization(
  { request, entry }: Exchange,
  organizations: Organizations,
  orgId: string,
  limits: BodyReading & EventBounds,
): Promise<Ending> {
  const org = organizations.get(orgId)
  if (!org) return unknownOrg()
  const refused = checkMediaType(request, ['application/json'])
  if (refused) return refused
  const maxDecodedBytes = Math.min(limits.maxDecodedBytes, maxUpdateBytes)
  const body = await readBody(request, entry, { ...limits, maxDecodedBytes })
  if (!Buffer.isBuffer(body)) return body
  if (!isUtf8(body)) return refusal(400, 'not-utf-8', 'the body is not valid UTF-8')
  const text = body.toString()
  const problem = nestingProblem(text, limits)
  if (problem) return refusal(problem.status, problem.code, problem.message)
  const update = parsedJson(text)
  if (update === undefined) return refusal(400, 'malformed-json', await malformedJson(text))
  if (!isJsonObject(update)) return refusal(400, 'not-an-object', 'the body must be a JSON object')
  const { name, region } = ownProperties(update)
  if (!isFilledString(name)) return refusal(400, 'invalid-name', '"name" must be a non-empty string')
  if (region !== undefined && !isFilledString(region)) {
    return refusal(400, 'invalid-region', '"region" must be a non-empty string or absent')
  }
  return json(200, organizations.change(org, { name, defaultRegion: region }, systemTimeMs()))
}

function isFilledString(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function unknownOrg(): Answer {
  return refusal(404, 'unknown-organization', 'there is no organization with this id')
}
