import * as v from 'valibot'
import { invalidArgument } from '../errors.ts'
import { checked } from '../options/checked.ts'
import { kindOf, kindOfMistake } from '../options/described.ts'
import { option } from '../options/option.ts'
import { isPathSegment } from '../options/path-segment.ts'
import type { OrgUpdate } from './organization.ts'

const text = v.string('a string')
const updateOptions = {
  name: option<string>({ check: text, values: 'string', summary: 'new name of the organization' }),
  region: option<string>({ check: text, values: 'string', summary: 'region of the organization' }),
}

/**
 * Checks the id of an organization, which becomes one segment of a path.
 *
 * @returns the id, unchanged
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION`. The message omits the id, which may be a misplaced
 *   token.
 */
export function checkedId(id: unknown): string {
  if (isPathSegment(id)) return id
  throw invalidArgument(
    'id',
    'the id of an organization (1 to 1024 characters, no control characters, not "." or "..")',
    kindOf(id),
    kindOfMistake(id, 'string'),
  )
}

/** @throws TypeError with `code` `LOGFERRY_INVALID_OPTION` */
export function checkedUpdate(update: unknown): OrgUpdate {
  if (typeof update !== 'object' || update === null || Array.isArray(update)) {
    throw invalidArgument('update', 'an object with a name', kindOf(update))
  }
  const { name, region } = checked(updateOptions, update)
  if (name === undefined) throw invalidArgument('update', 'an object with a name', 'an object without one')
  return { name, region }
}
