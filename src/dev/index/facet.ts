import { Candidate } from '../event/candidate.ts'
import type { Entry } from '../event/entry.ts'
import { type Scalar, scalarJson } from '../event/exact-event.ts'
import { levelOfRank } from '../event/level-rank.ts'
import type { FacetAnswer } from '../protocol.ts'
import { FieldPath } from '../query/field-path.ts'
import type { Search } from './search.ts'

const defaultLimit = 20
const maxLimit = 1000
/** Maximum number of different values that are counted. */
const maxValues = 10_000
/**
 * Maximum length of a value, in characters. Longer values are counted by their beginning, which `edit-query.ts` must not
 * take for the whole value.
 */
const maxValueChars = 300
/** Maximum number of values of one event, if the field is in an array. */
const maxValuesPerEvent = 100

/** Counts the values of one field among the matches. */
export async function facetOf(
  entries: readonly Entry[],
  search: Search,
  { field, limit = defaultLimit }: { field: string; limit?: number | undefined },
): Promise<FacetAnswer> {
  const counts = new Map<Scalar, number>()
  let left = 0
  const valuesOf = valuesReader(field)
  for await (const { matched } of search.newestFirst(entries)) {
    for (const entry of matched) {
      for (const value of valuesOf(entry)) {
        const count = counts.get(value)
        if (count !== undefined || counts.size < maxValues) counts.set(value, (count ?? 0) + 1)
        else left++
      }
    }
  }
  const sorted = [...counts].sort(([, one], [, other]) => other - one)
  const values = sorted.slice(0, Math.min(Math.max(limit, 1), maxLimit)).map(([value, count]) => ({
    value: scalarJson(value),
    label: String(value),
    count,
  }))
  return { field, values, distinct: counts.size, approximate: left > 0 }
}

function valuesReader(field: string): (entry: Entry) => Iterable<Scalar> {
  switch (field) {
    case 'level':
      return ({ rank }) => [levelOfRank(rank)]
    case 'dataset':
      return ({ dataset }) => [dataset.name]
    case 'source':
      return ({ source }) => [source?.name ?? null]
    case 'request':
      return ({ request }) => (request === 0 ? [] : [request])
  }
  const path = new FieldPath(field)
  return entry => {
    const { event } = new Candidate(entry)
    const values = new Set<Scalar>()
    path.some(event, value => {
      if (typeof value === 'string') values.add(value.slice(0, maxValueChars))
      else if (typeof value !== 'object' || value === null) values.add(value as Scalar)
      return values.size >= maxValuesPerEvent
    })
    return values
  }
}
