import { bodyOf } from './answer-body.ts'
import type { Answer } from './exchange.ts'
import { one } from './header.ts'
import { jsonObject } from './json-object.ts'

/**
 * The service's own words about a refusal, as one short line; a redirect says where it points to.
 *
 * @param redact takes tokens out of them, before they are cut short
 */
export function reasonIn(answer: Answer, redact: (text: string) => string = text => text): string {
  const location = one(answer.headers.location)
  if (answer.status >= 300 && answer.status < 400 && location) {
    return short(`redirects to ${originOf(redact(location))}`)
  }
  const { text, isWhole } = bodyOf(answer)
  const body = jsonObject(text, isWhole)
  const said = [body?.message, body?.error, body?.reason].find(one => typeof one === 'string')
  return short(redact((said as string | undefined) ?? textOf(redact(text))))
}

/** What a server says as one line of at most 200 characters. */
export function short(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what a server says must not move a terminal's cursor
  const line = text.replaceAll(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ').trim()
  if (line === '') return 'no reason given'
  return line.length > 200 ? `${line.slice(0, 200)}…` : line
}

/** What a page says without its tags; its first 4,000 characters, as the pattern takes quadratic time on hostile ones. */
function textOf(page: string): string {
  return page.slice(0, 4000).replaceAll(/<(style|script)[\s\S]*?<\/\1>|<[^>]*>/gi, ' ')
}

/** Only the origin: a query in a redirect may carry what was sent to us in confidence. */
function originOf(location: string): string {
  if (URL.canParse(location)) return new URL(location).origin
  return /^([a-z][a-z\d+.-]*:|\/\/)/i.test(location) ? 'another address' : 'another path of the same host'
}
