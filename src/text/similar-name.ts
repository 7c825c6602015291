import { editDistance } from './edit-distance.ts'

/** Maximum number of mistakes in a name, in total and as a share of its characters. */
const maxMistakes = 3
const maxShare = 1 / 3

/** Lengths of a name that is compared with the beginnings and ends of others. A shorter one fits by chance. */
const minPartChars = 3
const maxPartChars = 40

/**
 * Returns the known name that a mistyped name most resembles. Otherwise, it returns the only known name that begins or
 * ends as the other does, such as `baseUrl` for `url`. Returns `undefined` if no known name is similar.
 */
export function similarName(name: string, known: readonly string[]): string | undefined {
  return mistypedName(name, known) ?? shortenedName(name, known)
}

function mistypedName(name: string, known: readonly string[]): string | undefined {
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

function shortenedName(name: string, known: readonly string[]): string | undefined {
  if (name.length < minPartChars || name.length > maxPartChars) return undefined
  const [found, ...others] = known.filter(other => isPart(name, other) || isPart(other, name))
  return others.length === 0 ? found : undefined
}

/** True if a name begins or ends with a part, whatever the case. */
function isPart(part: string, name: string): boolean {
  return name.toLowerCase().startsWith(part.toLowerCase()) || name.toLowerCase().endsWith(part.toLowerCase())
}
