import { styleText } from 'node:util'
import { toPrintableLines } from '../text/short-line.ts'

/** A part of a line with a style. A terminal shows it in this style; elsewhere the text stands alone. */
export interface StyledText {
  readonly style: Style
  readonly text: string
}

export type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan'

/**
 * Prints a text to standard output. Commands print only through this module, so that no text can control the terminal.
 * Colors appear only on a terminal, unless `FORCE_COLOR` asks for them or `NO_COLOR` turns them off.
 */
export function print(text: string | readonly (string | StyledText)[]): void {
  console.log(typeof text === 'string' ? toPrintableLines(text) : styled(text, process.stdout))
}

/** Prints a text to standard error, equally safe for the terminal. */
export function printError(text: string | readonly (string | StyledText)[]): void {
  console.error(typeof text === 'string' ? toPrintableLines(text) : styled(text, process.stderr))
}

function styled(parts: readonly (string | StyledText)[], stream: NodeJS.WriteStream): string {
  const shown = parts.map(part => {
    if (typeof part === 'string') return toPrintableLines(part)
    return styleText(part.style, toPrintableLines(part.text), { stream })
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
