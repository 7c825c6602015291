import { type Redact, toShortLine } from '../text/short-line.ts'
import { bodyOf } from './answer-body.ts'
import type { Answer } from './exchange.ts'
import { firstValue } from './header.ts'
import { jsonObjectIn } from './json-object.ts'

/** Returns the service's reason for a refusal as one short line. For a redirect, returns its target. */
export function reasonIn(answer: Answer, redact?: Redact): string {
  const location = firstValue(answer.headers.location)
  if (answer.status >= 300 && answer.status < 400 && location) {
    return toReason(`redirects to ${originOf(toShortLine(location, redact, maxLocationChars))}`)
  }
  const body = bodyOf(answer)
  const fields = jsonObjectIn(body)
  const said = [fields?.message, fields?.error, fields?.reason].find(one => typeof one === 'string')
  return toReason((said as string | undefined) ?? textOf(body.text), redact)
}

/** Returns a text from a server as one short line. */
export function toReason(text: string, redact?: Redact): string {
  return toShortLine(text, redact) || 'no reason given'
}

/**
 * Returns the message of an error of a connection. OpenSSL's messages also name its functions and source files, of which
 * only the reason is of use: `no TLS connection: wrong version number`.
 */
export function withoutSourceFiles(message: string): string {
  const reason = /^[\dA-F]+:error:[\dA-F]+:[^:]*:[^:]*:([^:]+):/.exec(message)?.[1]
  return reason === undefined ? message : `no TLS connection: ${reason}`
}

const maxLocationChars = 2000

/**
 * Returns the text of a page without tags, style sheets and scripts. No pattern scans the same characters repeatedly.
 */
function textOf(page: string): string {
  const [start, ...sections] = page.split(/<(?=\/?(?:style|script)\b)/i)
  const outside = sections.map(section => (section.startsWith('/') ? `<${section}` : ' '))
  return `${start}${outside.join('')}`.replace(/<[^<>]*>/g, ' ')
}

/** Returns only the origin: the query of a redirect may repeat confidential data. */
function originOf(location: string): string {
  if (URL.canParse(location)) return new URL(location).origin
  return /^([a-z][a-z\d+.-]*:|\/\/)/i.test(location) ? 'another address' : 'another path of the same host'
}
