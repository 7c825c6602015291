import * as v from 'valibot'
import type { FieldsOptions } from './fields-options.ts'
import { strictObject } from './strict-object.ts'

const expectedMax = 'an integer from 20 to 20000 (fields)'
const expectedPath = 'a dotted path of 1 to 200 characters, with `*` only at its end: labels.*'
const expectedPaths = 'a list of at most 100 dotted paths: [labels.*]'
const expectedField = 'the name of a field, 1 to 200 characters'
const maxPaths = 100

/** Names joined by dots; none is empty, and only the last of several may be `*`. */
const path = /^(?!\*$)[^.*]+(?:\.[^.*]+)*(?:\.\*)?$/

const PathSchema = v.pipe(v.string(expectedPath), v.maxLength(200, expectedPath), v.regex(path, expectedPath))

export const FieldsOptionsSchema = strictObject(
  {
    max: v.optional(
      v.pipe(
        v.number(expectedMax),
        v.integer(expectedMax),
        v.minValue(20, expectedMax),
        v.maxValue(20_000, expectedMax),
      ),
    ),
    asText: v.optional(v.pipe(v.array(PathSchema, expectedPaths), v.maxLength(maxPaths, expectedPaths))),
    overflowField: v.optional(
      v.pipe(v.string(expectedField), v.minLength(1, expectedField), v.maxLength(200, expectedField)),
    ),
  },
  'an object: { max, asText, overflowField }',
)

/** The option `fields` as the core uses it. */
export interface ResolvedFields {
  readonly max: number | undefined
  readonly asText: readonly string[]
  readonly overflowField: string
}

/** Fills in `fields`. */
export function resolveFields(fields: FieldsOptions, overflowFieldOfLimits: string | undefined): ResolvedFields {
  const { max, asText = [], overflowField = overflowFieldOfLimits ?? 'overflow' } = fields
  return { max, asText: [...asText], overflowField }
}
