import { type Redact, toShortLine } from '../text/short-line.ts'
import { bodyOf } from './answer-body.ts'
import type { Answer } from './exchange.ts'
import { firstValue } from './header.ts'
import { jsonObject } from './json-object.ts'

/** The service's own words about a refusal, as one short line; a redirect says where it points to. */
export function reasonIn(answer: Answer, redact?: Redact): string {
  const location = firstValue(answer.headers.location)
  if (answer.status >= 300 && answer.status < 400 && location) {
    return toReason(`redirects to ${originOf(toShortLine(location, redact, maxLocationChars))}`)
  }
  const { text, isWhole } = bodyOf(answer)
  const body = jsonObject(text, isWhole)
  const said = [body?.message, body?.error, body?.reason].find(one => typeof one === 'string')
  return toReason((said as string | undefined) ?? textOf(text), redact)
}

/** What a server says as one short line. */
export function toReason(text: string, redact?: Redact): string {
  return toShortLine(text, redact) || 'no reason given'
}

const maxLocationChars = 2000

/** What a page says without its tags, style sheets and scripts. No pattern scans the same characters again and again. */
function textOf(page: string): string {
  const [start, ...sections] = page.split(/<(?=\/?(?:style|script)\b)/i)
  const outside = sections.map(section => (section.startsWith('/') ? `<${section}` : ' '))
  return `${start}${outside.join('')}`.replace(/<[^<>]*>/g, ' ')
}

/** Only the origin: a query in a redirect may carry what was sent to us in confidence. */
function originOf(location: string): string {
  if (URL.canParse(location)) return new URL(location).origin
  return /^([a-z][a-z\d+.-]*:|\/\/)/i.test(location) ? 'another address' : 'another path of the same host'
}
