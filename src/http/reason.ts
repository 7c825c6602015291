import type { Answer } from './exchange.ts'

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
  const body = parsed(answer.body)
  const text = [body?.message, body?.error, body?.reason].find(said => typeof said === 'string')
  return short(redact((text as string | undefined) ?? textOf(redact(answer.body))))
}

/** The fields of a JSON object; `undefined` where the text is none. */
export function parsed(body: string): Record<string, unknown> | undefined {
  if (!body.trimStart().startsWith('{')) return undefined
  try {
    return JSON.parse(body) as Record<string, unknown>
  } catch {
    return undefined
  }
}

/** What a server says as one line of at most 200 characters. */
export function short(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what a server says must not move a terminal's cursor
  const line = text.replaceAll(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ').trim()
  if (line === '') return 'no reason given'
  return line.length > 200 ? `${line.slice(0, 200)}…` : line
}

/** The value of a header, the first where it was sent more than once. */
export function one(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
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
