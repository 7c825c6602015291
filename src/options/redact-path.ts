/** A segment of a redaction path. */
export type PathSegment =
  /** A name as the literal texts around its stars: `['pass']` for `pass`, `['', '_secret']` for `*_secret`. */
  | { readonly kind: 'name'; readonly literals: readonly string[] }
  /** An item of an array; any item if `index` is `undefined`. */
  | { readonly kind: 'item'; readonly index: number | undefined }
  /** Any number of levels. */
  | { readonly kind: 'levels' }

/** A redaction path. The last segment is a name or an item. */
export type RedactPath = readonly PathSegment[]

/** Maximum length of a path, in characters. */
export const maxPathLength = 200

/**
 * Characters that other notations give a meaning: quotes, sets, alternatives, anchors, JSON Pointers. A path that was
 * written in such a notation must throw, because it would match nothing.
 */
const foreign = /[?{}()|\\^"'`,!\]/]|^\$$|^\s|\s$/
const bracket = /^\[(?:(\*)|(\d{1,9})|"([^"]+)"|'([^']+)')\]/

/** Parses a path. Returns the problem, as a text after “without”, if the path is malformed. */
export function parseRedactPath(path: string): RedactPath | string {
  const segments: PathSegment[] = []
  for (let rest = path; rest !== '' || segments.length === 0; ) {
    const isFirst = segments.length === 0
    if (rest.startsWith('[')) {
      const match = bracket.exec(rest)
      if (match === null) return 'brackets that hold anything but *, a number or a quoted name'
      const [all, star, index, ...names] = match
      const name = names.find(each => each !== undefined)
      if (isFirst && name === undefined) return 'an item at its start, because an event is no array'
      if (name !== undefined) segments.push({ kind: 'name', literals: [name] })
      else segments.push({ kind: 'item', index: star === undefined ? Number(index) : undefined })
      rest = rest.slice(all.length)
      continue
    }
    if (!isFirst && !rest.startsWith('.')) return 'characters right after a bracket'
    const [name = ''] = /^[^.[]*/.exec(isFirst ? rest : rest.slice(1)) ?? []
    if (name === '') return 'empty segments'
    if (foreign.test(name)) return 'special characters or outer spaces in a name that is not quoted'
    if (name.includes('**') && name !== '**') return '** within a name'
    segments.push(name === '**' ? { kind: 'levels' } : { kind: 'name', literals: name.split('*') })
    rest = rest.slice(name.length + (isFirst ? 0 : 1))
  }
  return normalized(segments)
}

/** Returns the path with a levels segment before a name that stands alone, and with a name in place of a last `**`. */
function normalized(segments: readonly PathSegment[]): RedactPath {
  const path = segments.filter((segment, i) => segment.kind !== 'levels' || segments[i + 1]?.kind !== 'levels')
  if (path.at(-1)?.kind === 'levels') path[path.length - 1] = anyName // what stands below a redacted value goes with it
  return path.length === 1 ? [{ kind: 'levels' }, ...path] : path
}

const anyName: PathSegment = { kind: 'name', literals: ['', ''] }
