import { once } from 'node:events'
import { styleText } from 'node:util'
import { toPrintableLines, toShortLine } from '../text/short-line.ts'

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
 * Waits until the reader of standard output takes more, so that a command which prints without end does not collect in
 * memory what its reader leaves. Ends early if the reader goes away or the signal is aborted.
 */
export async function whenTaken(signal: AbortSignal): Promise<void> {
  if (!process.stdout.writableNeedDrain) return
  await once(process.stdout, 'drain', { signal }).catch(() => {})
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

/** Replaces the last line of the terminal on standard error. An empty text removes the line. */
export function printStatus(text: string): void {
  process.stderr.write(`\r${toShortLine(text)}\u001b[K`)
}

/**
 * Prints lines with styles to standard output, in one write. Each part is made harmless before it gets its style, so
 * that no text can control the terminal.
 */
export function printLines(lines: readonly StyledLine[], hasColors: boolean): void {
  if (lines.length > 0) console.log(lines.map(line => line.map(part => shown(part, hasColors)).join('')).join('\n'))
}

function shown(part: string | StyledText, hasColors: boolean): string {
  if (typeof part === 'string') return toPrintableLines(part)
  const text = toPrintableLines(part.text)
  return hasColors ? styleText(looks[part.style], text, { validateStream: false }) : text
}
