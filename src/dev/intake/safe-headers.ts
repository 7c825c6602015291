import type { IncomingMessage } from 'node:http'
import { startOf } from './start-of.ts'

/**
 * Headers whose values are shown. Any other header may carry a key: the name of the header that has it is the choice of
 * each vendor.
 */
const shown = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'expect',
  'host',
  'traceparent',
  'transfer-encoding',
  'user-agent',
  'x-service-org-id',
])
const maxHeaders = 50
const maxValueChars = 200

/** Returns the headers of a request for people. */
export function readHeaders({ headers }: IncomingMessage): [name: string, value: string][] {
  return Object.entries(headers)
    .slice(0, maxHeaders)
    .map(([name, value]) => [
      startOf(name, maxValueChars),
      shown.has(name) ? startOf(String(value), maxValueChars) : '(not shown)',
    ])
}
