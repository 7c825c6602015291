import * as v from 'valibot'
import { invalidOption } from '../errors.ts'
import { checked } from '../options/checked.ts'
import { kindOf } from '../options/described.ts'
import { isPathSegment } from '../options/path-segment.ts'
import { strictObject } from '../options/strict-object.ts'
import type { OrgUpdate } from './organization.ts'

const UpdateSchema = strictObject({
  name: v.optional(v.string('a string')),
  region: v.optional(v.string('a string')),
})

/**
 * Checks the id of an organization, which becomes one segment of a path.
 *
 * @returns the id, unchanged
 * @throws TypeError with `code` `LOGFERRY_INVALID_OPTION`. The message omits the id, which may be a misplaced token.
 */
export function checkedId(id: unknown): string {
  if (isPathSegment(id)) return id
  throw invalidOption('id', 'the id of an organization (no control characters, not "." or "..")', kindOf(id))
}

/** @throws TypeError with `code` `LOGFERRY_INVALID_OPTION` */
export function checkedUpdate(update: unknown): OrgUpdate {
  if (typeof update !== 'object' || update === null) {
    throw invalidOption('update', 'an object with a name', kindOf(update))
  }
  const { name, region } = checked(UpdateSchema, update)
  if (name === undefined) throw invalidOption('name', 'a string', 'nothing')
  return { name, region }
}
