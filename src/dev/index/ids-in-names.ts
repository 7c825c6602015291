import { minNames, valueLikeness } from '../../fields/value-like-name.ts'
import type { FieldStatistics } from './field-statistics.ts'

/** Returns the paths of the groups in which several names look like identifiers. */
export function groupsNamedByIds(root: FieldStatistics): string[] {
  const found: string[] = []
  const open = [root]
  for (let group = open.pop(); group !== undefined; group = open.pop()) {
    if (group.members === undefined) continue
    let names = 0
    for (const [name, field] of group.members) {
      if (valueLikeness(name) !== undefined) names++
      open.push(field)
    }
    if (names >= minNames) found.push(group.path)
  }
  return found
}

/** True if the last part of a path looks like an identifier. */
export function idInName(path: string): boolean {
  return valueLikeness(path.slice(path.lastIndexOf('.') + 1)) !== undefined
}
