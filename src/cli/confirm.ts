import { createInterface } from 'node:readline/promises'
import { type Given, Misuse } from './command.ts'
import { printError } from './print.ts'

/**
 * Asks the user a question on the terminal, unless `--yes` is given. Returns true for a yes.
 *
 * @throws Misuse if there is no terminal to ask on
 */
export async function isConfirmed(question: string, given: Given): Promise<boolean> {
  if (given.yes === true) return true
  if (process.stdin.isTTY !== true) {
    throw new Misuse(`this must be confirmed, and standard input is no terminal. Give --yes to confirm: ${question}`)
  }
  printError(`${question} [y/N]`)
  const lines = createInterface({ input: process.stdin })
  try {
    for await (const line of lines) return /^\s*y(?:es)?\s*$/i.test(line)
    return false
  } finally {
    lines.close()
  }
}
