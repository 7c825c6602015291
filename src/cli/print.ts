import { once } from 'node:events'
import { styleText } from 'node:util'
import { toPrintableLines, toShortLine } from '../text/short-line.ts'
import { nextTurn } from '../time.ts'

/** A part of a line with a style. A terminal shows it in this style; elsewhere the text stands alone. */
export interface StyledText {
  readonly style: Style
  readonly text: string
}

export type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan' | 'blue' | 'fatal'

/** A line whose parts have styles. */
export type StyledLine = readonly (string | StyledText)[]

type Look = Parameters<typeof styleText>[0]

const looks: Readonly<Record<Style, Look>> = {
  bold: 'bold',
  dim: 'dim',
  green: 'green',
  yellow: 'yellow',
  red: 'red',
  cyan: 'cyan',
  blue: 'blue',
  fatal: ['magenta', 'inverse'],
}

/**
 * Prints a text to standard output. Commands print only through this module, so that no text can control the terminal.
 * Colors appear only on a terminal, unless `FORCE_COLOR` asks for them or `NO_COLOR` turns them off.
 */
export function print(text: string | readonly (string | StyledText)[]): void {
  console.log(typeof text === 'string' ? toPrintableLines(text) : styled(text, process.stdout))
}

/**
 * Waits until the reader of standard output takes more, so that a command which prints much does not collect in memory
 * what its reader leaves. Ends early if the reader goes away or the signal is aborted. Always takes a turn of the event
 * loop, in which these are noticed.
 */
export async function whenTaken(signal: AbortSignal): Promise<void> {
  if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain', { signal }).catch(() => {})
  else await nextTurn()
}

/** Prints a text to standard error, equally safe for the terminal. */
export function printError(text: string | readonly (string | StyledText)[]): void {
  console.error(typeof text === 'string' ? toPrintableLines(text) : styled(text, process.stderr))
}

function styled(parts: readonly (string | StyledText)[], stream: NodeJS.WriteStream): string {
  const shown = parts.map(part => {
    if (typeof part === 'string') return toPrintableLines(part)
    return styleText(looks[part.style], toPrintableLines(part.text), { stream })
  })
  return shown.join('')
}

/** Returns a title for the help. Only texts of this package become titles. */
export function bold(title: string): string {
  return styleText('bold', title, { stream: process.stdout })
}

/** Prints a help, which is a text of this package with styles in it. */
export function printHelp(text: string): void {
  process.stdout.write(text)
}

/**
 * Replaces the last line of the terminal on standard error. An empty text removes the line. A text that is wider than the
 * terminal is cut: the next one would replace the last of its lines only.
 */
export function printStatus(text: string): void {
  const { columns = 0 } = process.stderr
  process.stderr.write(`\r${toShortLine(text, undefined, columns > 2 ? columns - 2 : undefined)}\u001b[K`)
}

/** Length of what `printLines` writes at a time, in characters. A single line may be longer. */
const writtenChars = 65_536

/**
 * Prints lines with styles to standard output, some of them in each step, so that the caller can wait for the reader in
 * between. Each part of a line is made harmless before it gets its style, so that no text can control the terminal.
 */
export function* printLines(lines: Iterable<StyledLine>, hasColors: boolean): Generator<void> {
  let some: string[] = []
  let chars = 0
  for (const line of lines) {
    const text = line.map(part => shown(part, hasColors)).join('')
    some.push(text)
    chars += text.length
    if (chars < writtenChars) continue
    console.log(some.join('\n'))
    yield
    some = []
    chars = 0
  }
  if (some.length === 0) return
  console.log(some.join('\n'))
  yield
}

function shown(part: string | StyledText, hasColors: boolean): string {
  if (typeof part === 'string') return toPrintableLines(part)
  const text = toPrintableLines(part.text)
  return hasColors ? styleText(looks[part.style], text, { validateStream: false }) : text
}
