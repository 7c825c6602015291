import { systemTimeMs } from '../../time.ts'
import { Candidate, type EventObject } from '../event/candidate.ts'
import { unkeptEntry } from '../event/unkept-entry.ts'
import { compileQuery } from './compile-query.ts'
import { readQuery } from './read-query.ts'
import type { KnownFields } from './resolve-names.ts'

/** A query that cannot be applied to events before they are kept. */
export class UnusableQuery extends Error {}

/**
 * Returns the test for events that are not kept yet. What is known only of kept events, such as lateness, is not.
 *
 * @throws UnusableQuery if the query has patterns, which may take any time for each event
 */
export function eventPredicate(query: string, fields: KnownFields): (event: EventObject, dataset: string) => boolean {
  const nowMs = systemTimeMs()
  const { test, hasRegex } = compileQuery(readQuery(query, fields).node, { mark: 0, nowMs })
  if (hasRegex) throw new UnusableQuery('the query of reject may not have patterns between slashes')
  return (event, dataset) => test(new Candidate(unkeptEntry(event, dataset), event))
}
