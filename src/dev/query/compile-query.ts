import { Candidate } from '../event/candidate.ts'
import { mark } from '../event/entry.ts'
import { messageOf } from '../event/event-message.ts'
import { noRank, rankOfSpelling, rankOfWord } from '../event/level-rank.ts'
import { traceIdOf } from '../event/trace-ids.ts'
import { unkeptEntry } from '../event/unkept-entry.ts'
import { type Level, levels } from '../protocol.ts'
import { someText } from './event-texts.ts'
import { FieldPath } from './field-path.ts'
import { type Comparison, conjuncts, type QueryNode, type TermNode, type TermTest } from './query-node.ts'
import { TextFinder } from './text-finder.ts'
import { timeSpan } from './time-span.ts'
import { numberComparison, numberOf, type ValueTest, valueTest, WildcardPattern } from './value-test.ts'
import { isVirtualField, type VirtualField } from './virtual-fields.ts'

export type EntryTest = (candidate: Candidate) => boolean

export interface CompiledQuery {
  /** The test of the whole query. */
  readonly test: EntryTest
  /** The test without the clauses about levels, for the counts by level. */
  readonly testAnyLevel: EntryTest
  /** The test of the clauses about levels. It decides for events that pass the other one. */
  readonly testLevel: EntryTest
  /** True if the query has regular expressions, which may take any time. */
  readonly hasRegex: boolean
  /** True if one test may take long: by a regular expression, by a wildcard that can match in many ways, or by many terms. */
  readonly mayBeSlow: boolean
}

export interface QueryContext {
  /** `is:new` means: arrived after this number. 0 for none: then no event is new. */
  readonly mark: number
  /** The present time, for clock times of today. */
  readonly nowMs: number
}

/** A query with more terms may take long for one event: each term may look at the whole of it. */
const maxQuickTerms = 16

const always: EntryTest = () => true

export function compileQuery(node: QueryNode, context: QueryContext): CompiledQuery {
  const clauses = conjuncts(node)
  const [ofLevel, others] = [clauses.filter(isAboutLevel), clauses.filter(clause => !isAboutLevel(clause))]
  const compile = (nodes: readonly QueryNode[]) => allOf(nodes.map(clause => compiled(clause, context)))
  const testLevel = compile(ofLevel)
  const testAnyLevel = compile(others)
  const tests = testsOf(node)
  return {
    test: ofLevel.length === 0 ? testAnyLevel : candidate => testLevel(candidate) && testAnyLevel(candidate),
    testAnyLevel,
    testLevel,
    hasRegex: tests.some(({ kind }) => kind === 'regex'),
    mayBeSlow: tests.length > maxQuickTerms || tests.some(canTakeLong),
  }
}

/** Returns the levels that the clauses about levels let through. Clauses with patterns are not tried: they may take any time. */
export function shownLevels(node: QueryNode): Level[] {
  const clauses = conjuncts(node).filter(clause => isAboutLevel(clause) && !testsOf(clause).some(canTakeLong))
  const test = allOf(clauses.map(clause => compiled(clause, { mark: 0, nowMs: 0 })))
  return levels.filter(level => test(new Candidate(unkeptEntry({ level }, ''), { level })))
}

function isAboutLevel(node: QueryNode): boolean {
  if (node.kind === 'term') return node.field === 'level'
  if (node.kind === 'not') return isAboutLevel(node.node)
  return node.kind !== 'all' && node.nodes.every(isAboutLevel)
}

function testsOf(node: QueryNode): TermTest[] {
  if (node.kind === 'term') return [node.test]
  if (node.kind === 'not') return testsOf(node.node)
  return node.kind === 'all' ? [] : node.nodes.flatMap(testsOf)
}

function canTakeLong(test: TermTest): boolean {
  return test.kind === 'regex' || (test.kind === 'wildcard' && test.parts.includes('?'))
}

/** A test and how much it costs: 0 for what the entry knows, 1 for a search in the line, more for patterns. */
interface Costed {
  readonly test: EntryTest
  readonly cost: number
}

function compiled(node: QueryNode, context: QueryContext): Costed {
  switch (node.kind) {
    case 'all':
      return { test: always, cost: 0 }
    case 'not': {
      const { test, cost } = compiled(node.node, context)
      return { test: candidate => !test(candidate), cost }
    }
    case 'term':
      return compiledTerm(node, context)
    default: {
      const parts = cheapestFirst(node.nodes.map(part => compiled(part, context)))
      const cost = Math.max(...parts.map(part => part.cost))
      const tests = parts.map(part => part.test)
      if (node.kind === 'and') return { test: candidate => tests.every(test => test(candidate)), cost }
      return { test: candidate => tests.some(test => test(candidate)), cost }
    }
  }
}

function allOf(parts: Costed[]): EntryTest {
  const tests = cheapestFirst(parts).map(part => part.test)
  const [first = always, second] = tests
  if (second === undefined) return first
  return candidate => tests.every(test => test(candidate))
}

function cheapestFirst(parts: readonly Costed[]): Costed[] {
  return [...parts].sort((one, other) => one.cost - other.cost)
}

function compiledTerm({ field, test }: TermNode, context: QueryContext): Costed {
  if (field === null) return compiledText(test)
  if (field === 'message') return messageTest(test)
  if (field === 'trace_id') return traceTest(test)
  const ofEvent = fieldTest(field, test)
  if (!isVirtualField(field)) return ofEvent
  const ofEntry = virtualTest(field, test, context)
  if (ofEntry === undefined) return ofEvent
  // The levels and times of events were read when they arrived, and are compared as they were read.
  if (test.kind === 'compare' || test.kind === 'range') return { test: ofEntry, cost: 0 }
  if (field !== 'level') return { test: candidate => ofEntry(candidate) || ofEvent.test(candidate), cost: 0 }
  return {
    test: candidate => (candidate.entry.rank === noRank ? ofEvent.test(candidate) : ofEntry(candidate)),
    cost: 0,
  }
}

function compiledText(test: TermTest): Costed {
  switch (test.kind) {
    case 'text':
      return test.text === '' ? { test: always, cost: 0 } : textSearch(test.text, test.quotes === "'")
    case 'wildcard': {
      const pattern = new WildcardPattern(test.parts, 'part')
      return { test: candidate => someText(candidate.event, text => pattern.test(text)), cost: 2 }
    }
    case 'regex': {
      const regex = new RegExp(test.source, test.flags)
      return { test: candidate => someText(candidate.event, text => isLike(text, regex)), cost: 3 }
    }
    default:
      return { test: always, cost: 0 } // only a field can be compared, and each event has some value
  }
}

function textSearch(text: string, isExact: boolean): Costed {
  const searched = isExact ? text : text.toLowerCase()
  const finder = new TextFinder(searched)
  const contains = (value: string) => finder.isIn(isExact ? value : value.toLowerCase())
  // A line may write a number in another way than we do.
  const mayBeOfNumber = /^[-+.\de]+$/.test(searched.toLowerCase())
  // These characters are always written with a backslash.
  const isInLine = !mayBeOfNumber && !/[\\"\p{Cc}]|\p{Surrogate}/u.test(text)
  return {
    test: candidate => {
      if (isInLine && !candidate.hasEscapes) {
        if (!finder.isIn(isExact ? candidate.line : candidate.lowerLine)) return false
      }
      return someText(candidate.event, contains)
    },
    cost: 1,
  }
}

function fieldTest(field: string, test: TermTest): Costed {
  const path = new FieldPath(field)
  const nameFinder = new TextFinder(path.mark)
  const isTrue = test.kind === 'regex' ? regexTest(test.source, test.flags) : valueTest(test, field)
  return {
    test: candidate => {
      if (!candidate.hasEscapes && !nameFinder.isIn(candidate.line)) return false
      return path.some(candidate.event, isTrue)
    },
    cost: test.kind === 'regex' ? 3 : 1,
  }
}

/** Tests the field `message`, and the text that stands in the list for a message that is no text. */
function messageTest(test: TermTest): Costed {
  const ofField = fieldTest('message', test)
  const isTrue = virtualValueTest('message', test)
  if (test.kind === 'exists') return ofField
  return {
    test: candidate => {
      if (ofField.test(candidate)) return true
      const { message } = candidate.event
      const isItsText = typeof message === 'string' && message !== ''
      return !isItsText && isTrue(messageOf(candidate.event))
    },
    cost: Math.max(ofField.cost, 2),
  }
}

/** Tests the field `trace_id`, and the id of the trace if the event has it in another field: the list shows it as well. */
function traceTest(test: TermTest): Costed {
  const ofField = fieldTest('trace_id', test)
  const nameFinder = new TextFinder('trace')
  const isTrue = virtualValueTest('trace_id', test)
  return {
    test: candidate => {
      if (ofField.test(candidate)) return true
      if (!candidate.hasEscapes && !nameFinder.isIn(candidate.line)) return false
      const id = traceIdOf(candidate.event)
      return id !== null && isTrue(id)
    },
    cost: ofField.cost,
  }
}

function regexTest(source: string, flags: string): ValueTest {
  const regex = new RegExp(source, flags)
  return value => (typeof value !== 'object' || value === null) && isLike(String(value), regex)
}

/** Tells whether a text matches. A pattern that needs more stack than there is matches nothing. */
function isLike(text: string, regex: RegExp): boolean {
  try {
    return regex.test(text)
  } catch {
    return false
  }
}

/** Returns the test of what is known of an event without its line, or `undefined` if nothing of it can match. */
function virtualTest(field: VirtualField, test: TermTest, context: QueryContext): EntryTest | undefined {
  switch (field) {
    case 'level':
      return levelTest(test)
    case 'is':
      return test.kind === 'text' ? badgeTest(test.text.toLowerCase(), context) : undefined
    case '_time':
      return timeTest(test, context)
    case 'request': {
      const isTrue = virtualValueTest(field, test)
      return ({ entry }) => entry.request > 0 && isTrue(entry.request)
    }
    case 'dataset': {
      const isTrue = virtualValueTest(field, test)
      return ({ entry }) => isTrue(entry.dataset.name)
    }
    case 'source': {
      const isTrue = virtualValueTest(field, test)
      return ({ entry }) => entry.source !== null && isTrue(entry.source.name)
    }
  }
}

function virtualValueTest(field: string, test: TermTest): ValueTest {
  return test.kind === 'regex' ? regexTest(test.source, test.flags) : valueTest(test, field)
}

function levelTest(test: TermTest): EntryTest | undefined {
  if (test.kind === 'exists') return ({ entry }) => entry.rank >= 0
  if (test.kind === 'text') {
    const rank = rankOfSpelling(test.text) ?? rankOfNumber(test.text)
    return rank === undefined ? undefined : ({ entry }) => entry.rank === rank
  }
  if (test.kind === 'compare') {
    const isTrue = rankComparison(test.comparison, test.text)
    return isTrue && (({ entry }) => entry.rank >= 0 && isTrue(entry.rank))
  }
  if (test.kind !== 'range') return undefined
  const min = test.min === null ? () => true : rankComparison(test.includesMin ? '>=' : '>', test.min)
  const max = test.max === null ? () => true : rankComparison(test.includesMax ? '<=' : '<', test.max)
  return min && max && (({ entry }) => entry.rank >= 0 && min(entry.rank) && max(entry.rank))
}

function rankOfNumber(text: string): number | undefined {
  return numberOf(text) === undefined ? undefined : rankOfWord(text)
}

function rankComparison(sign: Comparison, text: string): ((rank: number) => boolean) | undefined {
  const rank = rankOfWord(text)
  return rank === undefined ? undefined : numberComparison(sign, rank)
}

function badgeTest(word: string, context: QueryContext): EntryTest | undefined {
  if (word === 'new') return ({ entry }) => context.mark > 0 && entry.n > context.mark
  const bit = badgeBits.get(word)
  return bit === undefined ? undefined : ({ entry }) => (entry.marks & bit) !== 0
}

const badgeBits: ReadonlyMap<string, number> = new Map([
  ['late', mark.late],
  ['clock', mark.clock],
  ['no-time', mark.noTime],
  ['cut', mark.cut],
  ['duplicate', mark.duplicate],
])

/** The time is compared as the list orders it. Only `<=` and equality mean a whole day; other signs, its beginning. */
function timeTest(test: TermTest, { nowMs }: QueryContext): EntryTest | undefined {
  const compared = (sign: Comparison, text: string) => {
    const span = timeSpan(text, nowMs)
    return span && numberComparison(sign, sign === '<=' ? span.last : span.first)
  }
  if (test.kind === 'compare') {
    const isTrue = compared(test.comparison, test.text)
    return isTrue && (({ entry }) => isTrue(entry.at))
  }
  if (test.kind === 'text') {
    const span = timeSpan(test.text, nowMs)
    return span && (({ entry: { at } }) => at >= span.first && at <= span.last)
  }
  if (test.kind !== 'range') return undefined
  const isAfter = test.min === null ? () => true : compared(test.includesMin ? '>=' : '>', test.min)
  const isBefore = test.max === null ? () => true : compared(test.includesMax ? '<=' : '<', test.max)
  return isAfter && isBefore && (({ entry }) => isAfter(entry.at) && isBefore(entry.at))
}
