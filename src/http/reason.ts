import { type Redact, toShortLine } from '../text/short-line.ts'
import { bodyOf } from './answer-body.ts'
import type { Answer } from './exchange.ts'
import { firstValue } from './header.ts'
import { jsonObjectIn } from './json-object.ts'

/** Maximum number of lines with a text that are read of a page. */
const maxLines = 200

/**
 * Returns the service's reason for a refusal as one short line, without the status. For a redirect, returns its target.
 * Without a text, returns the standard meaning of the status.
 */
export function reasonIn(answer: Answer, redact?: Redact): string {
  const location = firstValue(answer.headers.location)
  if (answer.status >= 300 && answer.status < 400 && location) {
    return toReason(`redirects to ${originOf(toShortLine(location, redact, maxLocationChars))}`)
  }
  const body = bodyOf(answer)
  const fields = jsonObjectIn(body)
  const said = [fields?.message, fields?.error, fields?.reason].find(one => typeof one === 'string')
  const text = (said as string | undefined) ?? textOf(body.text)
  return toShortLine(linesWithout(answer.status, text), redact) || meaningOf(answer.status)
}

/** Returns a text from a server as one short line. */
export function toReason(text: string, redact?: Redact): string {
  return toShortLine(text, redact) || noReason
}

/**
 * Returns the message of an error of a connection. OpenSSL's messages also name its functions and source files, of which
 * only the reason is of use: `no TLS connection: wrong version number`.
 */
export function withoutSourceFiles(message: string): string {
  const reason = /^[\dA-F]+:error:[\dA-F]+:[^:]*:[^:]*:([^:]+):/.exec(message)?.[1]
  return reason === undefined ? message : `no TLS connection: ${reason}`
}

/** Pages of proxies repeat the status and its meaning as title and heading: `503 Backend fetch failed`. */
function linesWithout(status: number, text: string): string {
  const prefix = new RegExp(`^(?:error )?${status}\\b[\\s:.-]*`, 'i')
  const lines = text.split('\n').map(line => line.trim())
  const filled = lines.filter(line => line !== '').slice(0, maxLines)
  return [...new Set(filled.map(line => line.replace(prefix, '')))].join(' ')
}

function meaningOf(status: number): string {
  return process.getBuiltinModule('node:http').STATUS_CODES[status] ?? noReason
}

const maxLocationChars = 2000
const noReason = 'no reason given'

/**
 * Returns the text of a page without tags, style sheets and scripts, with a line for each part between tags. No pattern
 * scans the same characters repeatedly.
 */
function textOf(page: string): string {
  const [start, ...sections] = page.split(/<(?=\/?(?:style|script)\b)/i)
  const outside = sections.map(section => (section.startsWith('/') ? `<${section}` : ' '))
  return `${start}${outside.join('')}`.replace(/<[^<>]*>/g, '\n')
}

/** Returns only the origin: the query of a redirect may repeat confidential data. */
function originOf(location: string): string {
  if (URL.canParse(location)) return new URL(location).origin
  return /^([a-z][a-z\d+.-]*:|\/\/)/i.test(location) ? 'another address' : 'another path of the same host'
}
