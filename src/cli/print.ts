import { toPrintableLines } from '../text/short-line.ts'

/** The one way to standard output: whatever is in the text, a terminal is not made to do anything by it. */
export function print(text: string): void {
  console.log(toPrintableLines(text))
}

/** The same to standard error. */
export function printError(text: string): void {
  console.error(toPrintableLines(text))
}
