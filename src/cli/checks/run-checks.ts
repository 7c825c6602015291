import { type Redact, toShortLine } from '../../text/short-line.ts'
import { clearInterval, maxTimeoutMs, monotonicMs, setInterval } from '../../time.ts'
import { directoryRemoved, isDirectoryRemoved } from '../current-directory.ts'
import { allChecks } from './all-checks.ts'
import { type Finding, fail, type HealthCheck, skipped, type Values } from './health-check.ts'
import { type CheckSettings, Session } from './session.ts'

/** A finding of a check, fit to be printed. */
export type Result = Finding & { readonly name: string; readonly durationMs: number }

const maxTextChars = 600
/** Maximum number of texts in one value, such as addresses of a host. */
const maxListed = 20

/** Statuses of the checks that have run, by name. A check that was skipped for another has the status of that one. */
type Statuses = Map<string, { readonly status: Finding['status']; readonly cause: string }>

/** Runs all checks in order. Yields each result as soon as it is known. */
export async function* runChecks(settings: CheckSettings): AsyncGenerator<Result> {
  const session = new Session(settings)
  const statuses: Statuses = new Map()
  const alive = setInterval(() => {}, maxTimeoutMs) // connections to the service do not keep a process alive
  try {
    for (const check of allChecks) {
      const startedAtMs = monotonicMs()
      const missing = check.after.map(name => statuses.get(name)).find(needed => !isUsable(needed?.status))
      const finding = missing === undefined ? await findingOf(check, session) : skipped(reasonFor(missing))
      statuses.set(check.name, missing ?? { status: finding.status, cause: check.name })
      yield { name: check.name, ...printable(finding, session.redact), durationMs: monotonicMs() - startedAtMs }
    }
  } finally {
    clearInterval(alive)
    session.close()
  }
}

function isUsable(status: Finding['status'] | undefined): boolean {
  return status === 'ok' || status === 'warn'
}

function reasonFor({ status, cause }: { readonly status: Finding['status']; readonly cause: string }): string {
  return `needs the check '${cause}', which ${status === 'fail' ? 'failed' : 'was skipped'}`
}

async function findingOf(check: HealthCheck, session: Session): Promise<Finding> {
  try {
    return await check.run(session)
  } catch (error) {
    if (isDirectoryRemoved(error)) return fail(directoryRemoved.problem, directoryRemoved.remedy)
    // No check lets an expected error through. One that was not expected must not hide what the other checks find.
    const { code = '', message } = error as NodeJS.ErrnoException
    return fail(
      `the check itself failed: ${[code, message].filter(Boolean).join(': ')}`,
      'Read the other results. If they are fine, report this as a bug of logferry.',
    )
  }
}

function printable(finding: Finding, redact: Redact): Finding {
  const line = (text: string) => toShortLine(text, one => redact(one, 'message'), maxTextChars)
  const entries = Object.entries(finding.values ?? {}).map(([name, value]): [string, Values[string]] => {
    if (typeof value === 'object') return [name, value.slice(0, maxListed).map(one => toShortLine(one, redact))]
    return [name, typeof value === 'string' ? toShortLine(value, redact) : value]
  })
  const values = entries.length > 0 && { values: Object.fromEntries(entries) }
  const detail = line(finding.detail)
  if ('remedy' in finding) return { status: finding.status, detail, remedy: line(finding.remedy), ...values }
  return { status: finding.status, detail, ...values }
}
