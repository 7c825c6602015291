import { createContext, Script } from 'node:vm'

/** Maximum time of one guarded run, in milliseconds. */
const maxRunMs = 50

const script = new Script('run()')

/**
 * Runs functions that try patterns of the user. A pattern may take exponential time for one value, so each run is
 * stopped after 50 ms.
 */
export class RegexGuard {
  readonly #context: { run: () => void }

  constructor() {
    this.#context = createContext({ run: () => {} }) as { run: () => void }
  }

  /** Runs a function. Returns false if the function was stopped. What it throws itself is thrown. */
  run(run: () => void): boolean {
    this.#context.run = run
    try {
      script.runInContext(this.#context, { timeout: maxRunMs })
      return true
    } catch (error) {
      if ((error as { code?: unknown } | null)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return false
      throw error
    }
  }
}
