import type { Reporter, TestCase, TestModule } from 'vitest/node'

const minute = 60_000

/**
 * Ends a run in which a file of tests stands still, and names the file. No timeout ends a test that blocks its process:
 * vitest would wait for ever, without a word.
 */
export default class StandstillReporter implements Reporter {
  /** When something was last heard of each file that runs. */
  readonly #heardAtMs = new Map<string, number>()
  readonly #timer = setInterval(() => this.#check(), minute)

  onTestModuleQueued({ moduleId }: TestModule): void {
    this.#heardAtMs.set(moduleId, performance.now())
  }

  onTestCaseResult({ module: { moduleId } }: TestCase): void {
    this.#heardAtMs.set(moduleId, performance.now())
  }

  onTestModuleEnd({ moduleId }: TestModule): void {
    this.#heardAtMs.delete(moduleId)
  }

  onTestRunEnd(): void {
    clearInterval(this.#timer)
  }

  #check(): void {
    const still = [...this.#heardAtMs].filter(([, atMs]) => performance.now() - atMs > 5 * minute)
    if (still.length === 0) return
    for (const [file] of still) console.error(`${file} has stood still for five minutes: a test blocks its process`)
    process.exit(1)
  }
}
