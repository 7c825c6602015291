import { invalidOption } from '../errors.ts'
import type { FieldUsage } from '../fields/field-rules.ts'
import { described, kindOfMistake } from '../options/described.ts'
import { onlyOption } from '../options/only-option.ts'
import type { Redaction } from '../record/redaction.ts'
import { tailFields } from '../record/resource-tail.ts'
import { systemTimeMs } from '../time.ts'
import type { Usage } from '../usage/usage.ts'
import { UsageMeter } from '../usage/usage-meter.ts'
import type { LineCounter } from './intake/intake.ts'
import type { License } from './license-limits.ts'
import type { UsageReports } from './usage-reports.ts'

/** Creates a meter of the bytes of each log statement. */
export function openUsageMeter(redaction: Redaction | undefined): UsageMeter {
  return new UsageMeter({
    shown: redaction && (event => redaction.statementOf(event)),
    scopeName: resource => {
      const fields = redaction === undefined ? tailFields(resource) : redaction.tailFields(resource)
      return (fields as { scope?: { name?: unknown } }).scope?.name
    },
    nowMs: systemTimeMs,
  })
}

/** The events that a shipper has kept, by log statement and by dataset, and the fields of each dataset. */
export interface ShipperUsage extends Usage {
  /** The fields of the last 1000 datasets used; `undefined` without the option `fields`. */
  readonly fields: Readonly<Record<string, FieldUsage>> | undefined
}

/** The usage of a shipper that does not count it. */
export function noUsage(nowMs: number): Usage {
  const none = { events: 0, bytes: 0 }
  return {
    sinceMs: nowMs,
    periodMs: 0,
    ...none,
    statements: [],
    otherStatements: none,
    datasets: {},
    otherDatasets: none,
  }
}

interface LineCounterDeps {
  readonly license: License | undefined
  readonly meter: UsageMeter | undefined
  readonly reports: UsageReports | undefined
}

/**
 * Returns the function that counts a line that has got its place in a batch, or `undefined` if nothing counts lines. It
 * is composed once, so that counts that are off cost nothing.
 */
export function lineCounter({ license, meter, reports }: LineCounterDeps): LineCounter | undefined {
  const ofLicense: LineCounter | undefined =
    license && ((_, { severity }, bytes) => license.limits.count(severity, bytes))
  const ofUsage = meter && usageCounter(meter, reports)
  if (ofLicense === undefined || ofUsage === undefined) return ofLicense ?? ofUsage
  return (dataset, intake, bytes) => {
    ofLicense(dataset, intake, bytes)
    ofUsage(dataset, intake, bytes)
  }
}

function usageCounter(meter: UsageMeter, reports: UsageReports | undefined): LineCounter {
  const count: LineCounter = (dataset, intake, bytes) => meter.add(dataset, intake, bytes)
  if (reports === undefined) return count
  return (dataset, intake, bytes) => {
    count(dataset, intake, bytes)
    reports.arm()
  }
}

const defaultMaxStatements = 20
const maxMaxStatements = 240

/** @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` */
export function checkedMaxStatements(options: { maxStatements?: number | undefined }): number {
  const given = onlyOption(options, 'maxStatements')
  if (given === undefined) return defaultMaxStatements
  const expected = `an integer from 0 to ${maxMaxStatements} (statements)`
  if (Number.isInteger(given) && given >= 0 && given <= maxMaxStatements) return given
  throw invalidOption('maxStatements', expected, described(given), kindOfMistake(given, 'number'))
}
