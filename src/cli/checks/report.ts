import type { Style, StyledText } from '../print.ts'
import { allChecks } from './all-checks.ts'
import type { Finding } from './health-check.ts'
import type { Result } from './run-checks.ts'

const styles: Readonly<Record<Finding['status'], Style>> = { ok: 'green', warn: 'yellow', fail: 'red', skipped: 'dim' }
const statusWidth = 'skipped'.length
const nameWidth = Math.max(...allChecks.map(({ name }) => name.length))

/** Returns a result as one line, followed by a line with the remedy if there is one. */
export function lineOf(result: Result): (string | StyledText)[] {
  const { status, name, detail, durationMs } = result
  const line: (string | StyledText)[] = [
    { style: styles[status], text: status.padEnd(statusWidth) },
    `  ${name.padEnd(nameWidth)}  ${detail}`,
  ]
  if (status !== 'skipped') line.push({ style: 'dim', text: `  (${Math.round(durationMs)} ms)` })
  if ('remedy' in result) line.push(`\n${' '.repeat(statusWidth + nameWidth + 4)}→ ${result.remedy}`)
  return line
}

/** Returns the line below all results. */
export function summaryOf(results: readonly Result[]): (string | StyledText)[] {
  const named = (status: Finding['status']) =>
    results.filter(result => result.status === status).map(({ name }) => name)
  const failed = named('fail')
  const warned = named('warn')
  if (failed.length > 0) return [{ style: 'red', text: `Failed: ${failed.join(', ')}.` }, ...more(warned)]
  return [{ style: 'green', text: 'Events are delivered.' }, ...more(warned)]
}

function more(warned: readonly string[]): string[] {
  return warned.length === 0 ? [] : [` Worth a look: ${warned.join(', ')}.`]
}

/** Returns all results for a program. */
export function jsonOf(results: readonly Result[]): string {
  const isOk = results.every(({ status }) => status !== 'fail')
  const checks = results.map(({ name, status, durationMs, ...rest }) => {
    return { name, status, durationMs: Math.round(durationMs), ...rest }
  })
  return JSON.stringify({ ok: isOk, checks }, null, 2)
}
