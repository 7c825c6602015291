import type { PathSegment, RedactPath } from '../options/redact-path.ts'
import { censored } from './censored.ts'
import { isCutName } from './cut-to-fit.ts'

/** The treatment of a member: redaction, a rule for the members below it, or nothing at all (`undefined`). */
export type Ruling = Rule | typeof censored | undefined

/** Names longer than this are not compared with patterns. They are redacted if a pattern could match them. */
const maxJudgedLength = 200
/** Maximum length of a name whose ruling is remembered. */
const maxRememberedLength = 64
/** Maximum number of rulings that are remembered before all are forgotten. */
const maxRemembered = 8192
/** Maximum number of rules that are known. Rules beyond it are made for one use, and remember nothing. */
const maxRules = 1000
/**
 * Maximum work on the names of one event whose rulings are not remembered, in comparisons of a name with a path. Each
 * takes up to 0.1 µs. Further names count as redacted: a log call must end soon, and a value must not escape.
 */
const maxComparisons = 300_000
/** Work on each name, or on each part of a dotted one, in comparisons. */
const comparisonsOfName = 4
/** Work to find a rule, and to make one, in comparisons for each of its positions in the paths. */
const comparisonsToFind = 5
const comparisonsToMake = 20

/** Places where an adapter, or `format.metadata()` of Winston, puts what the application logged. A path starts at any of them. */
const origins: readonly RedactPath[] = [
  [],
  [{ kind: 'name', literals: ['attributes'] }],
  [{ kind: 'name', literals: ['body'] }],
  [{ kind: 'name', literals: ['error'] }],
  [{ kind: 'name', literals: ['metadata'] }],
  [
    { kind: 'name', literals: ['splat'] },
    { kind: 'item', index: undefined },
  ],
]

/**
 * The compiled paths of a redaction: an automaton whose states are sets of positions in the paths.
 *
 * Names lead from state to state. A state and a name are judged once, and the ruling is remembered. The line writer
 * goes further and keeps the state with each place that it has learned.
 */
export class Rules {
  /** The rule for the members of an event. `undefined` if there is neither a path nor a pattern for texts. */
  readonly root: Rule | undefined
  readonly ignoresCase: boolean
  /** True if texts are masked, so that a rule is needed even if no path leads on. */
  readonly masksTexts: boolean
  /** The segments of all paths. `undefined` follows the last segment of each path. */
  readonly #segments: (PathSegment | undefined)[] = []
  /** Positions of dotted names, with the position where the path begins that each spells. */
  readonly #spelled = new Map<number, number>()
  /** Positions at the end of these paths, with the position after each dotted name. */
  readonly #continued = new Map<number, number>()
  readonly #rules = new Map<string, Rule>()
  #remembered = 0
  #comparisonsLeft = maxComparisons

  constructor(paths: readonly RedactPath[], options: { ignoresCase: boolean; masksTexts: boolean }) {
    this.ignoresCase = options.ignoresCase
    this.masksTexts = options.masksTexts
    const starts: number[] = []
    for (const path of paths.flatMap(withOrigins)) {
      const start = this.#segments.length
      starts.push(start)
      this.#segments.push(...path.map(segment => (this.ignoresCase ? segmentWithoutCase(segment) : segment)), undefined)
      for (let position = start; position < start + path.length; position++) this.#addSpelled(position)
    }
    const positions = new Set<number>()
    for (const start of starts) this.add(positions, start)
    this.root = this.ruleAt(positions)
  }

  segment(position: number): PathSegment | undefined {
    return this.#segments[position]
  }

  /** Begins an event. */
  begin(): void {
    this.#comparisonsLeft = maxComparisons
  }

  spend(comparisons: number): void {
    this.#comparisonsLeft -= comparisons
  }

  /** True if no further names of this event may be judged. */
  get isSpent(): boolean {
    return this.#comparisonsLeft < 0
  }

  /**
   * Adds the path that a dotted name spells. Names of OpenTelemetry attributes have dots, and such attributes are shipped
   * as nested objects.
   */
  #addSpelled(position: number): void {
    const segment = this.#segments[position]
    if (segment?.kind !== 'name') return
    const names = (segment.literals[0] as string).split('.')
    if (segment.literals.length > 1 || names.length < 2) return
    this.#spelled.set(position, this.#segments.length)
    this.#segments.push(...names.map((name): PathSegment => ({ kind: 'name', literals: [name] })))
    this.#continued.set(this.#segments.length, position + 1)
    this.#segments.push(undefined)
  }

  /** Adds a position, and the position after it if the segment may stand for no level. Returns true at a path's end. */
  add(positions: Set<number>, position: number): boolean {
    const continued = this.#continued.get(position)
    if (continued !== undefined) return this.add(positions, continued)
    const segment = this.#segments[position]
    if (segment === undefined) return true
    positions.add(position)
    const spelled = this.#spelled.get(position)
    if (spelled !== undefined) this.add(positions, spelled)
    return segment.kind === 'levels' && this.add(positions, position + 1)
  }

  ruleAt(positions: ReadonlySet<number>): Rule | undefined {
    if (positions.size === 0 && !this.masksTexts) return undefined
    const sorted = [...positions].sort((a, b) => a - b)
    const key = sorted.join()
    this.spend(sorted.length * comparisonsToFind)
    let rule = this.#rules.get(key)
    if (rule === undefined) {
      this.spend(sorted.length * comparisonsToMake)
      const isKnown = this.#rules.size < maxRules
      rule = new Rule(this, sorted, isKnown)
      if (isKnown) this.#rules.set(key, rule)
    }
    return rule
  }

  /** Counts a ruling that a rule remembers. Forgets all rulings if there are too many: names may be values. */
  remember(): void {
    if (++this.#remembered <= maxRemembered) return
    this.#remembered = 0
    for (const rule of this.#rules.values()) rule.forget()
  }
}

/** The rule for the members of one object, or for the items of one array: a state of the automaton. */
export class Rule {
  readonly #rules: Rules
  readonly #positions: readonly number[]
  /** Positions of `**` segments, which stay. */
  readonly #levels: number[] = []
  /** Positions of names without a star, by name. */
  readonly #exact = new Map<string, number[]>()
  /** Positions of names with a star. */
  readonly #globs: { readonly position: number; readonly literals: readonly string[] }[] = []
  /** Positions of items of an array. */
  readonly #items: { readonly position: number; readonly index: number | undefined }[] = []
  readonly #rulings = new Map<string, Ruling>()
  readonly #remembers: boolean
  /** The rule below a name that no path names; `unknown` until it is asked for. */
  #otherName: Rule | undefined | 'unknown' = 'unknown'
  /** Indexes that paths name. */
  readonly #indexes = new Set<number>()
  /** True if a name with a star may match some indexes and not others. */
  #hasDigitGlob = false
  /** The ruling of the items that no path names by their index; `unknown` until it is asked for. */
  #otherItem: Ruling | 'unknown' = 'unknown'
  #everyItem: Ruling | 'varied' | 'unknown' = 'unknown'

  constructor(rules: Rules, positions: readonly number[], remembers: boolean) {
    this.#rules = rules
    this.#positions = positions
    this.#remembers = remembers
    for (const position of positions) {
      const segment = rules.segment(position) as PathSegment
      if (segment.kind === 'levels') this.#levels.push(position)
      else if (segment.kind === 'item') this.#addItem(position, segment.index)
      else if (segment.literals.length > 1) this.#addGlob(position, segment.literals)
      else this.#addName(position, segment.literals[0] as string)
    }
  }

  get masksTexts(): boolean {
    return this.#rules.masksTexts
  }

  /** Begins an event: what bounds the cost of its names counts from zero. */
  begin(): void {
    this.#rules.begin()
  }

  /** True if names of this event may count as redacted only because no further ones may be judged. */
  get isSpent(): boolean {
    return this.#rules.isSpent
  }

  /**
   * Returns the ruling for a member. A dotted name also counts as the path that it spells, because an adapter or the
   * application may have joined the names.
   */
  member(name: string): Ruling {
    const known = this.#rulings.get(name)
    if (known !== undefined || this.#rulings.has(name)) return known
    if (this.#rules.isSpent) return censored
    const ruling = this.#judge(name)
    if (this.#remembers && name.length <= maxRememberedLength) {
      this.#rules.remember()
      this.#rulings.set(name, ruling)
    }
    return ruling
  }

  /** Returns the ruling that all items of an array have in common, or `varied` if it depends on the index. */
  get everyItem(): Ruling | 'varied' {
    if (this.#everyItem === 'unknown') {
      this.#everyItem = this.#hasDigitGlob || this.#indexes.size > 0 ? 'varied' : this.item(0)
    }
    return this.#everyItem
  }

  /** Returns the ruling for an item of an array. An item counts as a name of digits; a path may also pass it over. */
  item(index: number): Ruling {
    if (this.#hasDigitGlob || this.#indexes.has(index)) return this.#rules.isSpent ? censored : this.#judgeItem(index)
    if (this.#otherItem === 'unknown') this.#otherItem = this.#judgeItem(index)
    return this.#otherItem
  }

  #addItem(position: number, index: number | undefined): void {
    this.#items.push({ position, index })
    if (index !== undefined) this.#indexes.add(index)
  }

  #addGlob(position: number, literals: readonly string[]): void {
    this.#globs.push({ position, literals })
    if (!literals.every(isEmpty) && literals.every(text => digits.test(text))) this.#hasDigitGlob = true
  }

  #addName(position: number, name: string): void {
    const known = this.#exact.get(name)
    if (known === undefined) this.#exact.set(name, [position])
    else known.push(position)
    if (digits.test(name)) this.#indexes.add(Number(name))
  }

  #judgeItem(index: number): Ruling {
    const below = this.#below(String(index))
    if (below === censored) return censored
    const positions = new Set(below === undefined ? none : below.#positions)
    for (const item of this.#items) {
      if ((item.index ?? index) === index && this.#rules.add(positions, item.position + 1)) return censored
    }
    for (const { position } of this.#globs) positions.add(position)
    for (const [, passed] of this.#exact) for (const position of passed) positions.add(position)
    return this.#rules.ruleAt(positions)
  }

  forget(): void {
    this.#rulings.clear()
  }

  #judge(given: string): Ruling {
    const hasDot = given.includes('.')
    if (given.length > maxJudgedLength) {
      const mayHaveDot = hasDot || isCutName(given)
      // No path has a name so long.
      return this.#globs.length > 0 || (mayHaveDot && !this.#isIdle) ? censored : this.#belowOther
    }
    const name = this.#rules.ignoresCase ? withoutCase(given) : given
    const below = this.#below(name)
    if (below === censored || !hasDot) return below
    const spelled = this.#spell(name.split('.'))
    if (spelled === censored || spelled === below || below === undefined) return spelled
    return spelled === undefined ? below : this.#rules.ruleAt(new Set([...below.#positions, ...spelled.#positions]))
  }

  /** Returns the ruling for a name, in the case in which names are compared, without a look at its dots. */
  #below(name: string): Ruling {
    const rules = this.#rules
    rules.spend(comparisonsOfName + this.#globs.length)
    let positions: Set<number> | undefined
    for (const position of this.#exact.get(name) ?? none) {
      positions ??= this.#passed()
      if (rules.add(positions, position + 1)) return censored
    }
    for (const { position, literals } of this.#globs) {
      if (!matches(literals, name)) continue
      positions ??= this.#passed()
      if (rules.add(positions, position + 1)) return censored
    }
    return positions === undefined ? this.#belowOther : rules.ruleAt(positions)
  }

  get #belowOther(): Rule | undefined {
    if (this.#otherName === 'unknown') this.#otherName = this.#rules.ruleAt(this.#passed())
    return this.#otherName
  }

  /** Returns the positions that stay, whatever the name. */
  #passed(): Set<number> {
    const positions = new Set<number>()
    for (const position of this.#levels) this.#rules.add(positions, position)
    return positions
  }

  /** Returns the ruling for names that follow one another. One that ends a path redacts what comes after it. */
  #spell(names: readonly string[]): Ruling {
    let rule: Rule | undefined = this
    for (const name of names) {
      const below: Ruling = rule.#below(name)
      if (below === censored || below === undefined) return below
      rule = below
    }
    return rule
  }

  get #isIdle(): boolean {
    return this.#levels.length + this.#exact.size + this.#globs.length === 0
  }
}

const digits = /^\d*$/

const none: readonly number[] = []

function isEmpty(text: string): boolean {
  return text === ''
}

/** Returns the path itself, and the path below each origin if it starts at the root. */
function withOrigins(path: RedactPath): RedactPath[] {
  return path[0]?.kind === 'levels' ? [path] : origins.map(origin => [...origin, ...path])
}

function segmentWithoutCase(segment: PathSegment): PathSegment {
  if (segment.kind !== 'name') return segment
  return { kind: 'name', literals: segment.literals.map(withoutCase) }
}

/** Lower case alone would tell `ß` from `SS`, and the two small letters sigma from each other. */
function withoutCase(text: string): string {
  return text.toLowerCase().toUpperCase()
}

/** True if a name consists of these literal texts, two or more, with any characters between them. */
function matches(literals: readonly string[], name: string): boolean {
  const first = literals[0] as string
  const last = literals.at(-1) as string
  const end = name.length - last.length
  if (first.length > end || !name.startsWith(first) || !name.endsWith(last)) return false
  let at = first.length
  for (let i = 1; i < literals.length - 1; i++) {
    const literal = literals[i] as string
    const found = name.indexOf(literal, at)
    if (found < 0 || found + literal.length > end) return false
    at = found + literal.length
  }
  return true
}
