import { editDistance } from './edit-distance.ts'

/** Maximum number of mistakes in a name, in total and as a share of its characters. */
const maxMistakes = 3
const maxShare = 1 / 3

/** Returns the known name that a mistyped name most resembles, or `undefined` if no known name is similar. */
export function similarName(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined
  let least = Number.POSITIVE_INFINITY
  for (const other of known) {
    const max = Math.min(Math.max(1, Math.floor(other.length * maxShare)), maxMistakes)
    if (Math.abs(name.length - other.length) > max) continue
    const distance = editDistance(name.toLowerCase(), other.toLowerCase(), max)
    if (distance > max || distance >= least) continue
    best = other
    least = distance
  }
  return best
}
