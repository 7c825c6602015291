import { quoted } from '../text/short-line.ts'
import { clearTimeout, setTimeout } from '../time.ts'
import type { StatementUsage, Usage, UsageCount } from '../usage/usage.ts'

/** Number of statements that a report lists, and that a text names. */
const maxReported = 20
const maxNamed = 3

interface UsageReportsDeps {
  readonly everyMs: number
  /** The dataset for the reports; `undefined` for the dataset with most bytes. */
  readonly dataset: string | undefined
  /** Returns the usage since the last call. */
  readonly takePeriod: (maxStatements: number) => Usage
  readonly ship: (dataset: string, event: object) => void
}

/** Ships the usage of each log statement as an event, from time to time while events are logged. */
export class UsageReports {
  readonly #deps: UsageReportsDeps
  #timer: NodeJS.Timeout | undefined
  #isShipping = false

  constructor(deps: UsageReportsDeps) {
    this.#deps = deps
  }

  /** Makes sure that a report will follow; each event calls it. */
  arm(): void {
    if (this.#timer !== undefined || this.#isShipping) return
    this.#timer = setTimeout(() => this.shipNow(), this.#deps.everyMs).unref()
  }

  /** Leaves the report that is due later to the next one. */
  disarm(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** Ships the report that is due later, if any. Never throws. */
  shipNow(): void {
    if (this.#timer === undefined) return
    this.disarm()
    const usage = this.#deps.takePeriod(maxReported)
    const datasets = largestFirst(usage.datasets)
    const dataset = this.#deps.dataset ?? datasets[0]?.dataset
    if (dataset === undefined) return
    this.#isShipping = true
    try {
      this.#deps.ship(dataset, eventOf(usage, datasets))
    } finally {
      this.#isShipping = false
    }
  }
}

/** Fields that only a report has. */
export const usageFields = ['since', 'period_ms', 'events', 'bytes', 'statements', 'datasets'].map(
  name => `logferry.usage.${name}`,
)

function eventOf({ sinceMs, periodMs, events, bytes, statements }: Usage, datasets: readonly object[]): object {
  const message = `logferry: ${namesOf(statements) ?? 'no events'}`
  const since = new Date(sinceMs).toISOString()
  return {
    level: 'info',
    message,
    logferry: {
      usage: { since, period_ms: Math.round(periodMs), events, bytes, statements, datasets },
    },
  }
}

/**
 * Returns the datasets as a list, which is one field, whatever their names. The properties of an object are not in this
 * order if a name is a number, such as the id of a tenant.
 */
function largestFirst(datasets: Usage['datasets']): ({ readonly dataset: string } & UsageCount)[] {
  const list = Object.entries(datasets).map(([dataset, count]) => ({ dataset, ...count }))
  return list.sort((one, other) => other.bytes - one.bytes)
}

/** Names the statements with most bytes: `31 % are info "order * placed"`. */
export function namesOf(statements: readonly StatementUsage[]): string | undefined {
  if (statements.length === 0) return undefined
  return statements
    .slice(0, maxNamed)
    .map(({ share, level, text }) => `${Math.round(share * 100)} % are ${level} ${quoted(text)}`)
    .join(', ')
}
