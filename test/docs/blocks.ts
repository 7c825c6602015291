/**
 * Code blocks of the documentation, and what the comment above a block says about it. GitHub and the site do not show the
 * comment:
 *
 *     <!-- block: with transport; 1 event -->
 *
 * | part of the comment | |
 * |---|---|
 * | `with service, shipper` | the files of that name under `preludes/` stand before the block |
 * | `2 events`, `1 to 2 events` | so many events arrive; none, if the comment does not say |
 * | `1 request elsewhere` | at least so many requests go to the service of another library |
 * | `warns LOGFERRY_PAUSED` | the block causes this warning; several with commas |
 * | `may warn LOGFERRY_LIMITS` | the block causes this warning on a machine that is too busy |
 * | `prints /text/` | the output matches |
 * | `exits 1` | the exit code, if it is not 0 |
 * | `until /text/` | the block runs until its output matches, and is then ended by SIGINT |
 * | `as a process` | the block has a process of its own, because it writes to standard output or ends the process |
 * | `file app.mjs` | the block is written to a file of that name, in the folder in which the commands of the page run; it does not run by itself |
 * | `in spool` | the block runs in a folder that is prepared under that name, see `folders.ts` |
 * | `prints errors` | the block writes to standard error, as it shows |
 * | `needs redis` | the block runs with a Redis at `REDIS_URL`, and is skipped where none is installed |
 * | `needs benchmarks` | the block uses a library that is installed with the benchmarks, and is skipped without them |
 * | `not run: the reason` | the block is not run; each such block is listed in the test |
 */
import { checkedPages, type Fence, fencesOf } from './markdown.ts'

export interface Block extends Fence {
  readonly preludes: readonly string[]
  /** Minimum and maximum number of events that arrive. */
  readonly events: readonly [number, number]
  readonly requestsElsewhere: number
  readonly warnings: readonly string[]
  readonly exitCode: number
  readonly possibleWarnings: readonly string[]
  readonly prints: RegExp | undefined
  readonly until: RegExp | undefined
  readonly isProcess: boolean
  readonly file: string | undefined
  readonly folder: string | undefined
  readonly printsErrors: boolean
  readonly needsRedis: boolean
  readonly needsBenchmarks: boolean
  readonly notRun: string | undefined
}

/** Languages of blocks that run. Others are configuration, or the output of a program. */
export const runnable: readonly string[] = ['ts', 'js', 'sh']
export const shown: readonly string[] = ['', 'json', 'console', 'yaml', 'dockerfile', 'text', 'logfmt', 'toml']

/** Returns the blocks that run, of all pages. */
export function allBlocks(): Block[] {
  return checkedPages().flatMap(page =>
    fencesOf(page)
      .filter(({ language }) => runnable.includes(language))
      .map(blockOf),
  )
}

/**
 * Reads the comment above a block.
 *
 * @throws Error if the comment has a part of no meaning
 */
export function blockOf(fence: Fence): Block {
  const parts = partsOf(fence)
  /** Removes the part that matches, and returns its group. */
  const take = (pattern: RegExp): string | undefined => {
    const index = parts.findIndex(part => pattern.test(part))
    return index === -1 ? undefined : pattern.exec(parts.splice(index, 1)[0] as string)?.[1]
  }
  const list = (text: string | undefined) => text?.split(/, */) ?? []
  const pattern = (source: string | undefined) => (source === undefined ? undefined : new RegExp(source))
  const block: Block = {
    ...fence,
    preludes: list(take(/^with ([\w, -]+)$/)),
    events: rangeOf(take(/^(\d+|\d+ to \d+) events?$/) ?? '0'),
    requestsElsewhere: Number(take(/^(\d+) requests? elsewhere$/) ?? 0),
    warnings: list(take(/^warns ([A-Z_, ]+)$/)),
    exitCode: Number(take(/^exits (\d+)$/) ?? 0),
    possibleWarnings: list(take(/^may warn ([A-Z_, ]+)$/)),
    prints: pattern(take(/^prints \/(.+)\/$/)),
    until: pattern(take(/^until \/(.+)\/$/)),
    isProcess: take(/^(as a process)$/) !== undefined,
    file: take(/^file ([\w./-]+)$/),
    folder: take(/^in ([\w-]+)$/),
    printsErrors: take(/^(prints errors)$/) !== undefined,
    needsRedis: take(/^(needs redis)$/) !== undefined,
    needsBenchmarks: take(/^(needs benchmarks)$/) !== undefined,
    notRun: take(/^not run: (.+)$/),
  }
  if (parts.length > 0)
    throw new Error(`${placeOf(fence)}: the comment says '${parts.join('; ')}', which means nothing`)
  return block
}

function rangeOf(text: string): [number, number] {
  const [min = 0, max = min] = text.split(' to ').map(Number)
  return [min, max]
}

/** Names a block by its page and line. */
export function placeOf({ page, line }: Pick<Fence, 'page' | 'line'>): string {
  return `${page}:${line}`
}

function partsOf(fence: Fence): string[] {
  if (fence.comment === undefined) return []
  const said = /^block:(.*)$/s.exec(fence.comment)?.[1]
  if (said === undefined) return [] // another comment, such as the marker of a table
  return said
    .split(';')
    .map(part => part.trim())
    .filter(part => part !== '')
}
