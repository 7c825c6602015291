import * as v from 'valibot'
import {
  type EditRequest,
  type FaultChange,
  faultKinds,
  type JoinRequest,
  type ViewChange,
  type ViewQuery,
} from '../protocol.ts'
import { BadRequest, type Parameters } from './parameters.ts'

const maxColumns = 12
const maxArrival = Number.MAX_SAFE_INTEGER
const text = v.pipe(v.string(), v.maxLength(8192))
const arrival = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(maxArrival))
const time = v.nullable(v.pipe(v.number(), v.finite()))

const viewChange = v.strictObject({
  view: text,
  q: v.optional(text),
  sort: v.optional(v.picklist(['time', 'arrival'])),
  since: v.optional(arrival),
  from: v.optional(time),
  to: v.optional(time),
  group: v.optional(v.boolean()),
  columns: v.optional(v.pipe(v.array(text), v.maxLength(maxColumns))),
  mark: v.optional(arrival),
  pinned: v.optional(v.union([v.boolean(), arrival])),
})

const level = v.picklist(['trace', 'debug', 'info', 'warn', 'error', 'fatal'])
const offset = v.pipe(v.number(), v.integer(), v.minValue(0))

const editRequest = v.strictObject({
  q: text,
  change: v.variant('kind', [
    v.strictObject({ kind: v.picklist(['only', 'exclude', 'or']), path: text, value: v.string() }),
    v.strictObject({ kind: v.literal('exists'), path: text }),
    v.strictObject({ kind: v.literal('levels'), levels: v.array(level) }),
    v.strictObject({ kind: v.literal('text'), text }),
    v.strictObject({ kind: v.literal('and'), q: text }),
    v.strictObject({ kind: v.literal('remove'), start: offset, end: offset }),
  ]),
})

const number = v.optional(v.pipe(v.number(), v.finite()))

const limitValue = v.strictObject({ name: text, value: v.union([v.pipe(v.number(), v.finite()), text]) })

const faultChange = v.union([
  v.strictObject({
    start: v.strictObject({
      kind: v.picklist(faultKinds),
      status: number,
      retryAfterS: number,
      latencyMs: number,
      moment: v.optional(v.picklist(['before-storing', 'after-storing'])),
      bytesPerSecond: number,
      maxBytes: number,
      encoding: v.optional(text),
      query: v.optional(text),
      forS: v.pipe(v.number(), v.finite()),
    }),
  }),
  v.strictObject({ stop: text }),
  v.strictObject({
    limits: v.pipe(
      v.array(
        v.strictObject({
          name: text,
          enforced: v.boolean(),
          fields: v.optional(v.pipe(v.array(limitValue), v.maxLength(20))),
        }),
      ),
      v.maxLength(20),
    ),
  }),
])

const joinRequest = v.strictObject({ nonce: text, proof: text })

export const viewChangeOf = (body: unknown): ViewChange => checked(viewChange, body) as ViewChange
export const editRequestOf = (body: unknown): EditRequest => checked(editRequest, body)
export const faultChangeOf = (body: unknown): FaultChange => checked(faultChange, body)
export const joinRequestOf = (body: unknown): JoinRequest => checked(joinRequest, body)

/** Returns what a list shows, from the query string of `live`. */
export function viewQueryOf(parameters: Parameters): Partial<ViewQuery> {
  const given: { [K in keyof ViewQuery]: ViewQuery[K] | undefined } = {
    q: parameters.text('q'),
    sort: parameters.oneOf('sort', ['time', 'arrival']),
    since: parameters.integer('since', 0, maxArrival),
    from: parameters.number('from'),
    to: parameters.number('to'),
    group: parameters.flag('group'),
    columns: parameters.list('columns', maxColumns),
    mark: parameters.integer('mark', 0, maxArrival),
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

function checked<T>(schema: v.GenericSchema<unknown, T>, body: unknown): T {
  const { success, output, issues } = v.safeParse(schema, body)
  if (success) return output
  const [issue] = issues
  const path = issue === undefined ? null : v.getDotPath(issue)
  throw new BadRequest(path === null ? 'the body does not have the expected form' : `${path} is not valid`)
}
