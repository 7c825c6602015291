import { cutText } from '../cut-text.ts'
import { type EventObject, eventOfLine } from '../event/candidate.ts'
import type { CountedName } from '../event/counted-names.ts'
import type { Entry } from '../event/entry.ts'
import { levelOfRank } from '../event/level-rank.ts'
import type { CostAnswer } from '../protocol.ts'
import { rangeOf } from './chart.ts'
import type { Search } from './search.ts'
import { statementQuery } from './statement-query.ts'

const defaultLimit = 20
const maxLimit = 200
const maxStatements = 20_000
/** Number of events of a statement that are looked at to find its heaviest fields, and of these fields. */
const maxExamples = 20
const maxHeaviest = 3
/** Maximum size of the lines that are parsed for the heaviest fields of one statement, in characters. */
const maxExampleChars = 262_144
/** Maximum length of a name in the path of a heaviest field, in characters. Fields with the same beginning count as one. */
const maxNameChars = 256
const secondsPerMonth = 30 * 86_400

interface Counted {
  readonly statement: CountedName
  readonly dataset: CountedName
  readonly rank: number
  bytes: number
  events: number
  readonly examples: Entry[]
}

/** Counts the bytes of the matches by statement. */
export async function costOf(
  entries: readonly Entry[],
  search: Search,
  request: { limit: number | undefined; monthlyLimit: number | null; bytesPerSecond: number },
): Promise<CostAnswer> {
  const { limit = defaultLimit, monthlyLimit, bytesPerSecond } = request
  const byStatement = new Map<CountedName, Counted[]>()
  const range = rangeOf(entries) ?? { from: 0, to: 0 }
  let bytes = 0
  let events = 0
  for await (const { matched } of search.newestFirst(entries)) {
    for (const entry of matched) {
      const size = entry.lineBytes
      bytes += size
      events++
      const counted = countedOf(byStatement, entry)
      if (counted === undefined) continue
      counted.bytes += size
      counted.events++
      if (counted.examples.length < maxExamples) counted.examples.push(entry)
    }
  }
  const sorted = [...byStatement.values()].flat().sort((one, other) => other.bytes - one.bytes)
  return {
    bytesPerSecond,
    monthlyBytes: bytesPerSecond * secondsPerMonth,
    monthlyLimit,
    ...range,
    bytes,
    events,
    statements: sorted.slice(0, Math.min(Math.max(limit, 1), maxLimit)).map(counted => {
      const kind = {
        statement: counted.statement.name,
        dataset: counted.dataset.name,
        level: levelOfRank(counted.rank),
      }
      const examples = exampleEvents(counted.examples)
      return {
        ...kind,
        bytes: counted.bytes,
        events: counted.events,
        share: bytes === 0 ? 0 : counted.bytes / bytes,
        heaviest: heaviestFields(examples),
        q: statementQuery(
          kind,
          examples.map(({ event }) => event),
        ),
      }
    }),
  }
}

/** An event of a statement, and the length of its line. */
interface Example {
  readonly event: EventObject
  readonly chars: number
}

function exampleEvents(entries: readonly Entry[]): Example[] {
  const examples: Example[] = []
  let total = 0
  for (const { line } of entries) {
    if (total + line.length > maxExampleChars && total > 0) break
    total += line.length
    examples.push({ event: eventOfLine(line), chars: line.length })
  }
  return examples
}

function countedOf(byStatement: Map<CountedName, Counted[]>, { statement, dataset, rank }: Entry): Counted | undefined {
  const ofStatement = byStatement.get(statement)
  const known = ofStatement?.find(counted => counted.dataset === dataset && counted.rank === rank)
  if (known !== undefined) return known
  if (byStatement.size >= maxStatements) return undefined
  const counted: Counted = { statement, dataset, rank, bytes: 0, events: 0, examples: [] }
  if (ofStatement === undefined) byStatement.set(statement, [counted])
  else ofStatement.push(counted)
  return counted
}

/** Returns the fields that take most of the examples' bytes: fields of the event, and those one level below. */
function heaviestFields(examples: readonly Example[]): { path: string; share: number }[] {
  const sizes = new Map<string, number>()
  let total = 0
  for (const { event, chars } of examples) {
    total += chars
    for (const name in event) {
      if (!Object.hasOwn(event, name)) continue
      const value = event[name]
      if (typeof value !== 'object' || value === null || Array.isArray(value)) {
        addSize(sizes, cutText(name, maxNameChars), name, value)
        continue
      }
      const group = cutText(name, maxNameChars)
      for (const [member, nested] of Object.entries(value)) {
        addSize(sizes, `${group}.${cutText(member, maxNameChars)}`, member, nested)
      }
    }
  }
  return Array.from(sizes, ([path, size]) => ({ path, share: Math.min(size / total, 1) }))
    .sort((one, other) => other.share - one.share)
    .slice(0, maxHeaviest)
}

function addSize(sizes: Map<string, number>, path: string, name: string, value: unknown): void {
  const punctuation = 4
  sizes.set(path, (sizes.get(path) ?? 0) + name.length + sizeOf(value) + punctuation)
}

/** Returns the length of a value as JSON. Levels below the deepest that can be written count nothing. */
function sizeOf(value: unknown): number {
  try {
    return JSON.stringify(value, asNumber)?.length ?? 0
  } catch {
    return 0 // it is nested too deeply
  }
}

/** Makes a number of a long whole number, which JSON has no text for. Its length stays nearly the same. */
function asNumber(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value
}
