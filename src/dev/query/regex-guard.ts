import { createContext, Script } from 'node:vm'

const script = new Script('run()')

/**
 * Runs functions that try patterns of the user. A pattern may take exponential time for one value, so each run is
 * stopped after some time. The time is that of the clock: on a busy machine, a fast run may be stopped as well.
 */
export class RegexGuard {
  readonly #context: { run: () => void }

  constructor() {
    this.#context = createContext({ run: () => {} }) as { run: () => void }
  }

  /** Runs a function for up to `maxMs`. Returns false if the function was stopped. What it throws itself is thrown. */
  run(run: () => void, maxMs: number): boolean {
    this.#context.run = run
    try {
      script.runInContext(this.#context, { timeout: maxMs })
      return true
    } catch (error) {
      if ((error as { code?: unknown } | null)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return false
      throw error
    }
  }
}
