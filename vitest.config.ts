import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { alone, longest } from './test/processes.ts'
import { pruneOldFiles } from './test/support/prune-old-files.ts'

/** Starts the files that take longest first. A clean clone has no results of an earlier run to go by. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const index = longest.findIndex(file => moduleId.endsWith(file))
      return index === -1 ? longest.length : index
    }
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other))
  }
}

/** Workers, and the processes that tests start, load what they have in common from here. */
const compiled = fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url))
process.env.NODE_COMPILE_CACHE ??= compiled
// Tests run copies in temporary folders, whose code is never loaded again. Node itself removes nothing.
pruneOldFiles(compiled, Date.now() - 7 * 24 * 60 * 60 * 1000)

export default defineConfig({
  test: {
    // The processes that tests start need processors, too. But a file of tests computes for less than half of its time.
    maxWorkers: availableParallelism() + 2,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    restoreMocks: true,
    setupFiles: ['test/support/own-temporary-directory.ts'],
    sequence: { sequencer: LongestFirst },
    projects: [
      { extends: true, test: { name: 'alone', include: [...alone] } },
      {
        extends: true,
        test: {
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...alone],
          isolate: false,
        },
      },
    ],
  },
})
