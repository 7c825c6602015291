import * as v from 'valibot'
import { OverflowFieldSchema } from './checks.ts'
import { type DefinitionsOf, option, optionalInteger } from './option.ts'
import { withDefaults } from './with-defaults.ts'

/** Options for the fields of a dataset: `fields` of a shipper. `undefined` means the default. Unknown names throw. */
export interface FieldsOptions {
  /**
   * Maximum number of fields per dataset that this process fills. Integer, 20 to 20 000.
   *
   * A field is the dotted path of a value. When a dataset is full, new fields go into the overflow field, as a text of
   * JSON. With `limits`, the lower of this option and the license's `maxFields` applies.
   *
   * @defaultValue none: without `limits`, nothing limits the number of fields
   */
  max?: number | undefined
  /**
   * Groups that become one text each: the JSON of the group. Dotted paths, with or without `.*` at the end: `labels.*`,
   * `attributes.http.headers`. At most 100 paths of 1 to 200 characters, without brackets; `*` may stand only at the end.
   *
   * The resource and scope of an OpenTelemetry record are not affected.
   *
   * @defaultValue none
   */
  asText?: readonly string[] | undefined
  /**
   * Name of the field for surplus fields. 1 to 200 characters; not the `timeField`, no name that begins with `logferry.`,
   * and none that logferry fills itself: `level`, `message`, `logferry`, `resource`, `scope`, `log`, `log.record.uid`, `body`,
   * `attributes`, `event_name`, `severity_number`, `severity_text`, `trace_id`, `span_id`, `trace_flags`.
   *
   * @defaultValue `limits.overflowField`, or else 'overflow'
   */
  overflowField?: string | undefined
}

const expectedPath = 'a dotted path of 1 to 200 characters, without brackets, and with `*` only at its end: labels.*'
const expectedPaths = "an array of at most 100 dotted paths: ['labels.*']"
const maxPaths = 100

/** Names without brackets, joined by dots; none is empty, and only the last of several may be `*`. */
const path = /^(?!\*$)[^.*[\]]+(?:\.[^.*[\]]+)*(?:\.\*)?$/

const PathSchema = v.pipe(v.string(expectedPath), v.maxLength(200, expectedPath), v.regex(path, expectedPath))

/** The definition of each of `FieldsOptions`. */
export const fieldsOptions = {
  max: optionalInteger({ min: 20, max: 20_000, unit: 'fields', summary: 'maximum number of fields per dataset' }),
  asText: option<readonly string[]>({
    check: v.pipe(v.array(PathSchema, expectedPaths), v.maxLength(maxPaths, expectedPaths)),
    values: 'array of dotted paths',
    summary: 'groups that become one text each',
  }),
  overflowField: option<string>({
    check: OverflowFieldSchema,
    values: 'string',
    defaultText: "`limits.overflowField`, or `'overflow'`",
    summary: 'name of the field for surplus fields',
  }),
} satisfies DefinitionsOf<FieldsOptions>

/** The option `fields` as the core uses it. */
export interface ResolvedFields {
  readonly max: number | undefined
  readonly asText: readonly string[]
  readonly overflowField: string
}

/** Fills in `fields`. */
export function resolveFields(fields: FieldsOptions, overflowFieldOfLimits: string | undefined): ResolvedFields {
  const { max, asText = [], overflowField = overflowFieldOfLimits ?? 'overflow' } = withDefaults(fieldsOptions, fields)
  return { max, asText: [...asText], overflowField }
}
