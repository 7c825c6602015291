import { cutText } from '../cut-text.ts'
import { type EventObject, eventOfLine } from '../event/candidate.ts'
import type { CountedName } from '../event/counted-names.ts'
import { byTime, type Entry } from '../event/entry.ts'
import { messageOf } from '../event/event-message.ts'
import { levelOfRank } from '../event/level-rank.ts'
import { topFrameOf } from '../event/top-frame.ts'
import type { Group, GroupsAnswer } from '../protocol.ts'
import { rangeOf, type TimeRange } from './chart.ts'
import type { GroupsRequest } from './index-api.ts'
import type { Search } from './search.ts'

const defaultLimit = 50
const maxLimit = 500
/** Maximum number of groups that are counted. */
const maxGroups = 20_000
const sparkParts = 30
const maxMessageChars = 300
/** A group is new for this time after its first event, in milliseconds, if there is no mark. */
const newForMs = 300_000

interface Counted {
  readonly statement: CountedName
  readonly dataset: CountedName
  readonly rank: number
  count: number
  bytes: number
  first: Entry
  last: Entry
  readonly spark: number[]
}

/** Groups the matches by dataset, level and statement. New groups come first, then the largest ones. */
export async function groupsOf(
  entries: readonly Entry[],
  search: Search,
  request: GroupsRequest & { readonly nowMs: number; readonly epoch: string },
): Promise<GroupsAnswer> {
  const { mark = 0, limit = defaultLimit, nowMs, epoch } = request
  const range = rangeOf(entries) ?? { from: nowMs, to: nowMs }
  const groups = new Groups(range)
  for await (const { matched } of search.newestFirst(entries)) for (const entry of matched) groups.add(entry)
  const isNew = ({ statement }: Counted) => (mark > 0 ? statement.firstN > mark : nowMs - statement.firstAt <= newForMs)
  const sorted = groups.all().sort((one, other) => Number(isNew(other)) - Number(isNew(one)) || other.count - one.count)
  return {
    groups: sorted.slice(0, Math.min(Math.max(limit, 1), maxLimit)).map(group => answerOf(group, isNew(group), epoch)),
    total: sorted.length,
    complete: search.isComplete && !groups.areMany,
    ...range,
    reading: sorted.length === 0 ? search.readingOfNothing : search.reading,
  }
}

class Groups {
  readonly #range: TimeRange
  readonly #byStatement = new Map<CountedName, Counted[]>()
  #count = 0
  areMany = false

  constructor(range: TimeRange) {
    this.#range = range
  }

  all(): Counted[] {
    return [...this.#byStatement.values()].flat()
  }

  add(entry: Entry): void {
    const group = this.#groupOf(entry)
    if (group === undefined) return
    group.count++
    group.bytes += entry.lineBytes
    if (byTime(entry, group.first) < 0) group.first = entry
    if (byTime(entry, group.last) > 0) group.last = entry
    const { from, to } = this.#range
    const part = to === from ? sparkParts - 1 : Math.floor(((entry.at - from) / (to - from)) * sparkParts)
    const at = Math.min(Math.max(part, 0), sparkParts - 1)
    group.spark[at] = (group.spark[at] as number) + 1
  }

  #groupOf(entry: Entry): Counted | undefined {
    const { statement, dataset, rank } = entry
    const ofStatement = this.#byStatement.get(statement)
    const known = ofStatement?.find(group => group.dataset === dataset && group.rank === rank)
    if (known !== undefined) return known
    if (this.#count >= maxGroups) {
      this.areMany = true
      return undefined
    }
    this.#count++
    const group: Counted = {
      statement,
      dataset,
      rank,
      count: 0,
      bytes: 0,
      first: entry,
      last: entry,
      spark: new Array<number>(sparkParts).fill(0),
    }
    if (ofStatement === undefined) this.#byStatement.set(statement, [group])
    else ofStatement.push(group)
    return group
  }
}

function answerOf(group: Counted, isNew: boolean, epoch: string): Group {
  const example = eventOfLine(group.last.line)
  return {
    statement: group.statement.name,
    dataset: group.dataset.name,
    level: levelOfRank(group.rank),
    count: group.count,
    bytes: group.bytes,
    first: group.first.at,
    last: group.last.at,
    firstId: `${epoch}.${group.first.n}`,
    lastId: `${epoch}.${group.last.n}`,
    isNew,
    errorType: errorTypeOf(example),
    topFrame: topFrameOf(example),
    message: cutText(messageOf(example), maxMessageChars),
    spark: group.spark,
  }
}

/** Returns the class of the error in an event, or `null`. */
function errorTypeOf(event: EventObject): string | null {
  for (const value of [event.error, event.err, event.exception, event.attributes]) {
    if (typeof value !== 'object' || value === null) continue
    const { name, type, code, exception } = value as Record<string, unknown>
    const nested =
      typeof exception === 'object' && exception !== null ? (exception as { type?: unknown }).type : undefined
    for (const text of [name, type, nested, code]) {
      if (typeof text === 'string' && text !== '') return cutText(text, 100)
    }
  }
  return null
}
