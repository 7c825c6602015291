import { clearInterval, setInterval } from '../time.ts'
import { printError, printStatus } from './print.ts'

const everyMs = 500

/** Shows progress in the last line of a terminal, below the messages. Without a terminal, there are messages only. */
export class Progress {
  readonly #isShown: boolean
  readonly #timer: NodeJS.Timeout | undefined

  /** @param textNow returns the progress */
  constructor(isShown: boolean, textNow: () => string) {
    this.#isShown = isShown && process.env.TERM !== 'dumb'
    this.#timer = this.#isShown ? setInterval(() => printStatus(textNow()), everyMs).unref() : undefined
  }

  /** Prints a message. */
  say(text: string): void {
    if (this.#isShown) printStatus('')
    printError(text)
  }

  end(): void {
    clearInterval(this.#timer)
    if (this.#isShown) printStatus('')
  }
}
