/** Checks that several options share, and the expectations that their errors state. */
import * as v from 'valibot'
import type { ObtainAccessToken } from './obtain-access-token.ts'

export const expectedToken =
  'a token of visible ASCII characters, without spaces, line breaks, quotes around it or "Bearer"'
export const expectedOrgId = 'an id of visible ASCII characters, without spaces or quotes around it'

/** Visible ASCII characters without spaces can stand in a header as they are. */
const headerValue = (expected: string) =>
  v.pipe(v.string(expected), v.regex(/^[\x21-\x7e]+$/, expected), v.check(isUnquoted, expected))

export const TokenSchema = headerValue(expectedToken)

export const OrgIdSchema = headerValue(expectedOrgId)

/** An access token, or a function that obtains one. */
export const AccessTokenSchema = v.union(
  [TokenSchema, v.custom<ObtainAccessToken>(isFunction)],
  `${expectedToken}, or a function that returns one`,
)

/** Fields that logferry fills itself. */
const ownFields = ['level', 'message', 'logferry', 'resource', 'scope', 'log', 'log.record.uid']
/** Further fields that logferry fills if the event is an OpenTelemetry record. */
const recordFields = ['body', 'attributes', 'event_name', 'severity_number', 'severity_text']
const traceFields = ['trace_id', 'span_id', 'trace_flags']
const filledFields = [...ownFields, ...recordFields, ...traceFields]
const expectedOverflowField = `a string of 1 to 200 characters other than ${filledFields.join(', ')}, and none that begins with logferry.`

/** The name of the field that surplus fields go into. */
export const OverflowFieldSchema = fieldNameBut(filledFields, expectedOverflowField)

/** A timestamp in one of these fields would be lost. `log` holds nothing but the uid, which keeps its place beside it. */
const notForTime = filledFields.filter(name => name !== 'log')
const expectedTimeField = `the name of a field, 1 to 200 characters, other than ${notForTime.join(', ')}, and none that begins with logferry.`

/** The name of the field for the timestamp. */
export const TimeFieldSchema = fieldNameBut(notForTime, expectedTimeField)

/** Returns a schema for the name of a field: any but these, and none of the fields that logferry adds. */
function fieldNameBut(excluded: readonly string[], expected: string) {
  return v.pipe(
    v.string(expected),
    v.minLength(1, expected),
    v.maxLength(200, expected),
    v.notValues(excluded, expected),
    v.check(isNotOwn, expected),
  )
}

/** True unless the name is that of a field that logferry adds to an event, such as `logferry.cut`. */
function isNotOwn(name: string): boolean {
  return !name.startsWith('logferry.')
}

/** Some readers of `.env` files, such as Docker's, keep the quotes around a value. */
export function isUnquoted(text: string): boolean {
  return !/^(["']).*\1$/.test(text)
}

export function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}
