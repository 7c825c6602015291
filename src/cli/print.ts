import { toPrintableLines, toShortLine } from '../text/short-line.ts'

/**
 * Prints a text to standard output. Commands print only through this function, so that no text can control the
 * terminal.
 */
export function print(text: string): void {
  console.log(toPrintableLines(text))
}

/** Prints a text to standard error, equally safe for the terminal. */
export function printError(text: string): void {
  console.error(toPrintableLines(text))
}

/** Replaces the last line of the terminal on standard error. An empty text removes the line. */
export function printStatus(text: string): void {
  process.stderr.write(`\r${toShortLine(text)}\u001b[K`)
}
