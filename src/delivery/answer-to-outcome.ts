import type { Answer } from '../http/exchange.ts'
import type { EventFailure, Outcome } from '../outcome.ts'
import { retryAfterMs } from './retry-after.ts'

/** The most failures of one answer that are looked at one by one; the rest are counted. */
const maxFailuresRead = 1000

/**
 * Decides what an answer means, by its status alone wherever the body does not help: proxies answer with HTML, with
 * nothing, with half a JSON object and with the wrong content type.
 */
export function answerToOutcome(answer: Answer, nowMs: number): Outcome {
  const { status } = answer
  if (status >= 200 && status < 300) return delivered(answer.body)
  if (isRetryable(status)) {
    const waitMs = retryAfterMs(one(answer.headers['retry-after']), nowMs, one(answer.headers.date))
    return { kind: 'retryable', status, reason: reasonIn(answer), retryAfterMs: waitMs }
  }
  if (status === 413) return { kind: 'too-large' }
  if (status === 415) return { kind: 'unsupported-encoding' }
  if (status === 400 || status === 422) return { kind: 'rejected', status, reason: reasonIn(answer) }
  return { kind: 'blocked', status, reason: reasonIn(answer) }
}

/** 430 is what the public service that resembles this one answers beside 429. */
function isRetryable(status: number): boolean {
  return status >= 500 || status === 408 || status === 425 || status === 429 || status === 430
}

function delivered(body: string): Outcome {
  const answer = parsed(body)
  const failed = answer?.failed
  if (typeof failed !== 'number' || !(failed > 0)) return { kind: 'delivered' }
  const failures = Array.isArray(answer?.failures) ? answer.failures.slice(0, maxFailuresRead).map(failureIn) : []
  return { kind: 'partly-rejected', failed: Math.floor(failed), failures }
}

function failureIn(value: unknown): EventFailure {
  const { timestamp, error } = (value ?? {}) as Record<string, unknown>
  return {
    timestamp: typeof timestamp === 'string' ? timestamp : undefined,
    reason: typeof error === 'string' ? short(error) : 'no reason given',
  }
}

/** The service's own words about a refusal, as one short line; a redirect says where it points to. */
function reasonIn(answer: Answer): string {
  const location = one(answer.headers.location)
  if (answer.status >= 300 && answer.status < 400 && location) return short(`redirects to ${originOf(location)}`)
  const body = parsed(answer.body)
  const text = [body?.message, body?.error, body?.reason].find(said => typeof said === 'string')
  return short((text as string | undefined) ?? textOf(answer.body))
}

/** What a page says without its tags; its first 4,000 characters, as the pattern takes quadratic time on hostile ones. */
function textOf(page: string): string {
  return page.slice(0, 4000).replaceAll(/<(style|script)[\s\S]*?<\/\1>|<[^>]*>/gi, ' ')
}

/** Only the origin: a query in a redirect may carry what was sent to us in confidence. */
function originOf(location: string): string {
  return URL.canParse(location) ? new URL(location).origin : 'another path of the same host'
}

function parsed(body: string): Record<string, unknown> | undefined {
  if (!body.trimStart().startsWith('{')) return undefined
  try {
    return JSON.parse(body) as Record<string, unknown>
  } catch {
    return undefined
  }
}

function short(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what a server says must not move a terminal's cursor
  const line = text.replaceAll(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ').trim()
  if (line === '') return 'no reason given'
  return line.length > 200 ? `${line.slice(0, 200)}…` : line
}

function one(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}
