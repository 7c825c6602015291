import type { ResolvedOptions } from '../options/resolved-options.ts'
import { summaryFields } from './intake/repeat-summary.ts'
import { usageFields } from './usage-reports.ts'

/** Returns the fields that this package adds to events, or fills in events of its own, with these options. */
export function addedFieldsOf({ collapse, identify, reportUsageEveryMs }: ResolvedOptions): readonly string[] {
  return [
    ...(collapse ? summaryFields : []),
    ...(identify ? ['log.record.uid'] : []),
    ...(reportUsageEveryMs ? usageFields : []),
  ]
}
