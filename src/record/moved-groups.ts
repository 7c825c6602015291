import { isRecord } from './is-plain-data.ts'
import type { Info } from './winston-info.ts'

/** Maximum number of fields of an info among which a group is looked for. */
const maxSearched = 100

/**
 * Returns the names of the groups of an info into which `format.metadata()` may have moved the fields that Winston has
 * merged from an argument. An option of that format names the group.
 */
export function movedGroups(info: Info, argument: object): string[] {
  return Object.keys(info)
    .slice(0, maxSearched)
    .filter(name => {
      const group = info[name]
      return typeof group === 'object' && group !== null && group !== (argument as Info)[name] && isRecord(group)
    })
}
