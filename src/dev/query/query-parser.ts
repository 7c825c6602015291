import {
  all,
  type Comparison,
  type LogicalNode,
  type QueryNode,
  QueryProblem,
  type TermNode,
  type TermTest,
  type WildcardPart,
} from './query-node.ts'
import { unescaped } from './quoted-text.ts'

/** Maximum length of a query, in characters, and number of its terms and levels. A longer text is searched as text. */
const maxChars = 4000
const maxTerms = 200
const maxDepth = 50
const maxWildcardParts = 64

const blank = /\s/
const fieldName = /[\p{L}_@$#][\p{L}\p{N}_@$#./-]*/uy
const regexFlags = /[imsu]*(?=[\s)]|$)/y
const letterOrDigit = /[\p{L}\p{N}]/u
const operator = /:?(?:!=|<>|>=|<=|==|=|>|<)|:!?/y
/** An operator before a value in a group: `status:(>=500 AND <504)`. */
const innerOperator = /!=|>=|<=|=|>|</y
/** What may follow a `+`, which other languages write before a term that must match. */
const afterPlus = /[\p{L}_@$#"'(]/u
const comparisonOf: ReadonlyMap<string, Comparison> = new Map([
  ['>', '>'],
  ['>=', '>='],
  ['<', '<'],
  ['<=', '<='],
])

/** A field and an operator that stand before a value, or before a group of values. */
interface Prefix {
  readonly field: string
  readonly comparison: Comparison | undefined
  readonly isNegated: boolean
}

/**
 * Parses the text of a query.
 *
 * The grammar is that of Lucene: terms, `field:value`, comparisons, ranges, `AND`, `OR`, `NOT`, `-` and brackets. It is
 * parsed here, because the parsers that exist accept no unfinished text, take exponential time for `(a) (b) (c) …`, and
 * know neither IP addresses nor `a>=5`. `NOT` binds more strongly than `AND`, and `AND` more strongly than `OR`. A space
 * is `AND`.
 *
 * Blanks may stand around the operator of a field that events have: `status >= 500`, `level: error`. Before any other
 * word, they show that the text is no query, but a line of a log: `retries = 5`.
 *
 * @param isField tells whether a name is that of a field that events have
 * @throws QueryProblem if the text is no query
 */
export function parseQuery(text: string, isField: (name: string) => boolean = () => false): ParsedQuery {
  if (text.length > maxChars) throw new QueryProblem(`longer than ${maxChars} characters`, maxChars)
  const parser = new QueryParser(text, isField)
  const node = parser.parse()
  const { isRewritten, wordsLikeOperators, namesLikeFields } = parser
  return { node, isRewritten, wordsLikeOperators, namesLikeFields }
}

export interface ParsedQuery {
  readonly node: QueryNode
  /** True if the query means something that its text does not show: `a=b`, `a:(b OR c)`, `a OR b c`. */
  readonly isRewritten: boolean
  /** Places of the words `and`, `or` and `not` in lower case. */
  readonly wordsLikeOperators: readonly { readonly word: string; readonly at: number }[]
  /** Words that stand before an operator with a blank, and are no fields. */
  readonly namesLikeFields: readonly { readonly name: string; readonly at: number }[]
}

class QueryParser {
  readonly #text: string
  #at = 0
  #terms = 0
  #depth = 0
  isRewritten = false
  readonly wordsLikeOperators: { word: string; at: number }[] = []
  readonly namesLikeFields: { name: string; at: number }[] = []
  readonly #isField: (name: string) => boolean

  constructor(text: string, isField: (name: string) => boolean) {
    this.#text = text
    this.#isField = isField
  }

  parse(): QueryNode {
    this.#skipBlank()
    if (this.#isAtEnd()) return all
    const node = this.#alternatives(undefined)
    if (!this.#isAtEnd()) throw this.#unexpected()
    return node
  }

  #alternatives(prefix: Prefix | undefined): QueryNode {
    const nodes = [this.#conjunction(prefix)]
    while (this.#takeWord('OR') || this.#takeWord('||')) nodes.push(this.#conjunction(prefix))
    if (nodes.length > 1 && nodes.some(({ kind }) => kind === 'and')) this.isRewritten = true
    return logical('or', nodes)
  }

  #conjunction(prefix: Prefix | undefined): QueryNode {
    const nodes: QueryNode[] = []
    for (;;) {
      nodes.push(this.#negation(prefix))
      const isExplicit = this.#takeWord('AND') || this.#takeWord('&&')
      if (isExplicit) continue
      if (this.#isAtEnd() || this.#text[this.#at] === ')' || this.#isWord('OR') || this.#isWord('||')) break
    }
    return logical('and', nodes)
  }

  #negation(prefix: Prefix | undefined): QueryNode {
    const start = this.#at
    const next = this.#text[start + 1]
    if (this.#text[start] === '+' && afterPlus.test(next ?? '')) {
      this.#at++
      this.isRewritten = true
      const node = this.#primary(prefix)
      return node.kind === 'all' ? node : { ...node, start }
    }
    const mayBeSign = this.#text[start] === '-' || this.#text[start] === '!'
    if (mayBeSign && next === undefined) throw new QueryProblem('unexpected end of the text', start + 1, true)
    const isSign = mayBeSign && !blank.test(next ?? '')
    if (!isSign && !this.#takeWord('NOT')) return this.#primary(prefix)
    if (isSign) {
      this.#at++
      if (next === '(') this.isRewritten = true
    }
    this.#enter()
    const node = this.#negation(prefix)
    this.#depth--
    return { kind: 'not', node, start, end: endOf(node) }
  }

  #primary(prefix: Prefix | undefined): QueryNode {
    if (this.#isAtEnd()) throw this.#unexpected()
    if (this.#text[this.#at] === '(') return this.#group(prefix)
    for (const word of ['AND', 'OR', '&&', '||']) if (this.#isWord(word)) throw this.#unexpected(word)
    if (this.#text[this.#at] === ')') throw this.#unexpected()
    if (++this.#terms > maxTerms) throw new QueryProblem(`more than ${maxTerms} terms`, this.#at)
    return this.#term(prefix)
  }

  #group(prefix: Prefix | undefined): QueryNode {
    const start = this.#at
    this.#enter()
    this.#at++
    this.#skipBlank()
    const node = this.#alternatives(prefix)
    if (this.#text[this.#at] !== ')') throw this.#unexpected()
    this.#at++
    const end = this.#at
    this.#skipBlank()
    this.#depth--
    return node.kind === 'all' ? node : { ...node, start, end }
  }

  #enter(): void {
    if (++this.#depth > maxDepth) throw new QueryProblem(`more than ${maxDepth} levels of brackets`, this.#at)
  }

  #term(outer: Prefix | undefined): QueryNode {
    const start = this.#at
    const prefix = outer === undefined ? this.#prefix() : this.#withInnerOperator(outer)
    if (prefix === undefined) return this.#ended({ kind: 'term', field: null, test: this.#test(undefined), start })
    const { field, isNegated } = prefix
    if (this.#text[this.#at] === '(' && outer === undefined) {
      this.isRewritten = true
      const group = { ...this.#group({ ...prefix, isNegated: false }), start }
      return isNegated ? { kind: 'not', node: group, start, end: endOf(group) } : group
    }
    const test = this.#test(prefix)
    // Other languages ask for the presence of a field by `_exists_:field`.
    const isPresence = field === '_exists_' && test.kind === 'text'
    if (isPresence) this.isRewritten = true
    const asked = isPresence ? { field: test.text, test: { kind: 'exists' as const } } : { field, test }
    const term = this.#ended({ kind: 'term', ...asked, start })
    return isNegated ? { kind: 'not', node: term, start, end: endOf(term) } : term
  }

  #ended(node: Omit<TermNode, 'end'>): TermNode {
    const end = this.#at
    this.#skipBlank()
    return { ...node, end }
  }

  /** Reads the operator before a value in a group, if there is one. */
  #withInnerOperator(outer: Prefix): Prefix {
    innerOperator.lastIndex = this.#at
    const [sign] = (outer.comparison === undefined && innerOperator.exec(this.#text)) || []
    if (sign === undefined) return outer
    this.#at += sign.length
    this.#skipBlank()
    return { field: outer.field, comparison: comparisonOf.get(sign), isNegated: sign === '!=' }
  }

  /** Reads the field and the operator before a value. Moves nowhere if the next term names no field. */
  #prefix(): Prefix | undefined {
    const start = this.#at
    const field = this.#fieldName()
    const read = field === undefined ? undefined : this.#operatorOf(field, start)
    if (field === undefined || read === undefined) {
      this.#at = start
      return undefined
    }
    const { sign, valueAt } = read
    this.#at = valueAt
    if (this.#isAtEnd()) throw this.#unexpected()
    if (!sign.startsWith(':') || sign.includes('!')) this.isRewritten = true
    const bare = sign.replace(':', '')
    return { field, comparison: comparisonOf.get(bare), isNegated: bare.startsWith('!') || bare === '<>' }
  }

  /** Returns the operator after a field, and where its value begins, or `undefined` if the name is only a word. */
  #operatorOf(field: string, start: number): { sign: string; valueAt: number } | undefined {
    const nameEnd = this.#at
    const signAt = this.#blankEnd(nameEnd)
    operator.lastIndex = signAt
    const [sign] = operator.exec(this.#text) ?? []
    if (sign === undefined || (signAt > nameEnd && sign.startsWith(':'))) return undefined
    const signEnd = signAt + sign.length
    const valueAt = this.#blankEnd(signEnd)
    if (this.#text[valueAt] === ')' || (sign === ':' && this.#text.startsWith('//', signEnd))) return undefined
    const isApart = signAt > nameEnd || (valueAt > signEnd && !/^:[<>!=]/.test(sign))
    if (!isApart) return { sign, valueAt }
    if (valueAt > signEnd && /(?:AND|OR|&&|\|\|)(?:\s|$)/y.test(this.#text.slice(valueAt))) return undefined
    if (this.#isField(field)) {
      this.isRewritten = true
      return { sign, valueAt }
    }
    if (sign !== ':') this.namesLikeFields.push({ name: field, at: start })
    return undefined
  }

  #blankEnd(from: number): number {
    let at = from
    while (at < this.#text.length && blank.test(this.#text[at] as string)) at++
    return at
  }

  #fieldName(): string | undefined {
    const quote = this.#text[this.#at]
    if (quote === '"' || quote === "'") {
      const end = this.#closingQuote()
      if (end === undefined || this.#text[end + 1] !== ':') return undefined
      const name = unescaped(this.#text.slice(this.#at + 1, end))
      this.#at = end + 1
      return name
    }
    fieldName.lastIndex = this.#at
    const [name] = fieldName.exec(this.#text) ?? []
    if (name === undefined) return undefined
    const trimmed = name.replace(/-+$/, '')
    this.#at += trimmed.length
    return trimmed
  }

  #test(prefix: Prefix | undefined): TermTest {
    const char = this.#text[this.#at]
    const comparison = prefix?.comparison
    if (char === '"' || char === "'") {
      const text = this.#quoted()
      return comparison === undefined ? { kind: 'text', text, quotes: char } : { kind: 'compare', comparison, text }
    }
    if (comparison !== undefined) return { kind: 'compare', comparison, text: literalOf(this.#bareParts()) }
    if (char === '/') {
      const regex = this.#regex()
      if (regex !== undefined) return regex
    }
    if (prefix !== undefined && (char === '[' || char === '{')) {
      const range = this.#range()
      if (range !== undefined) return range
    }
    const at = this.#at
    return testOf(this.#bareParts(), at)
  }

  #quoted(): string {
    const end = this.#closingQuote()
    if (end === undefined)
      throw new QueryProblem('unexpected end of the text: a quote is open', this.#text.length, true)
    const text = unescaped(this.#text.slice(this.#at + 1, end))
    this.#at = end + 1
    return text
  }

  #closingQuote(): number | undefined {
    const quote = this.#text[this.#at]
    for (let at = this.#at + 1; at < this.#text.length; at++) {
      if (this.#text[at] === '\\') at++
      else if (this.#text[at] === quote) return at
    }
    return undefined
  }

  #regex(): TermTest | undefined {
    let isInClass = false
    for (let at = this.#at + 1; at < this.#text.length; at++) {
      const char = this.#text[at]
      if (char === '\\') at++
      else if (char === '[') isInClass = true
      else if (char === ']') isInClass = false
      else if (char === '/' && !isInClass) {
        regexFlags.lastIndex = at + 1
        const [flags] = regexFlags.exec(this.#text) ?? []
        if (flags === undefined || at === this.#at + 1) return undefined
        const source = this.#text.slice(this.#at + 1, at)
        checkRegex(source, flags, this.#at)
        this.#at = at + 1 + flags.length
        return { kind: 'regex', source, flags }
      }
    }
    return undefined
  }

  #range(): TermTest | undefined {
    const found = /^([[{])\s*("(?:\\.|[^"\\])*"|[^\s"\]}]+)\s+TO\s+("(?:\\.|[^"\\])*"|[^\s"\]}]+)\s*([\]}])/.exec(
      this.#text.slice(this.#at),
    )
    if (found === null) return undefined
    const [whole, open, min = '', max = '', close] = found
    this.#at += whole.length
    if (min === '*' && max === '*') return { kind: 'exists' }
    return {
      kind: 'range',
      min: bound(min),
      max: bound(max),
      includesMin: open === '[',
      includesMax: close === ']',
    }
  }

  /** Reads a value without quotes. It ends at a blank, or at a closing bracket that it has not opened itself. */
  #bareParts(): WildcardPart[] {
    const parts: WildcardPart[] = []
    let literal = ''
    let open = 0
    const start = this.#at
    for (; this.#at < this.#text.length; this.#at++) {
      const char = this.#text[this.#at] as string
      if (blank.test(char)) break
      if (char === '(') open++
      if (char === ')' && --open < 0) break
      if (char === '*' || char === '?') {
        if (literal !== '') parts.push({ literal })
        literal = ''
        parts.push(char)
        continue
      }
      if (char === '\\' && !letterOrDigit.test(this.#text[this.#at + 1] ?? 'a')) this.#at++
      literal += this.#text[this.#at]
    }
    if (this.#at === start) throw this.#unexpected()
    if (literal !== '') parts.push({ literal })
    const word = this.#text.slice(start, this.#at)
    const isBetweenTerms = word === 'not' ? this.#blankEnd(this.#at) < this.#text.length : start > 0
    if (/^(?:and|or|not)$/.test(word) && isBetweenTerms) this.wordsLikeOperators.push({ word, at: start })
    return parts
  }

  #isWord(word: string): boolean {
    if (!this.#text.startsWith(word, this.#at)) return false
    const next = this.#text[this.#at + word.length]
    return next === undefined || blank.test(next) || next === '(' || next === ')'
  }

  #takeWord(word: string): boolean {
    if (!this.#isWord(word)) return false
    this.#at += word.length
    this.#skipBlank()
    return true
  }

  #skipBlank(): void {
    this.#at = this.#blankEnd(this.#at)
  }

  #isAtEnd(): boolean {
    return this.#at >= this.#text.length
  }

  #unexpected(what = this.#text[this.#at]): QueryProblem {
    if (this.#isAtEnd()) return new QueryProblem('unexpected end of the text', this.#text.length, true)
    return new QueryProblem(`unexpected \`${what}\``, this.#at)
  }
}

function testOf(parts: readonly WildcardPart[], at: number): TermTest {
  if (parts.every(part => part === '*')) return { kind: 'exists' }
  if (parts.every(part => typeof part === 'object')) return { kind: 'text', text: literalOf(parts), quotes: '' }
  if (parts.length > maxWildcardParts)
    throw new QueryProblem(`more than ${maxWildcardParts} wildcards and their texts`, at)
  return { kind: 'wildcard', parts }
}

function literalOf(parts: readonly WildcardPart[]): string {
  return parts.map(part => (typeof part === 'object' ? part.literal : part)).join('')
}

function bound(text: string): string | null {
  if (text === '*') return null
  return text.startsWith('"') ? unescaped(text.slice(1, -1)) : text
}

function checkRegex(source: string, flags: string, at: number): void {
  try {
    new RegExp(source, flags)
  } catch {
    throw new QueryProblem(`no valid pattern: /${source}/${flags}`, at)
  }
}

function logical(kind: 'and' | 'or', nodes: readonly QueryNode[]): QueryNode {
  const [first = all] = nodes
  if (nodes.length === 1) return first
  const node: LogicalNode = { kind, nodes, start: startOf(first), end: endOf(nodes.at(-1) ?? all) }
  return node
}

function startOf(node: QueryNode): number {
  return node.kind === 'all' ? 0 : node.start
}

function endOf(node: QueryNode): number {
  return node.kind === 'all' ? 0 : node.end
}
