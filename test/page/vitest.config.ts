/** The page of `logferry dev` in a real browser: `npm run test:page`. */
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['*.check.ts'], // not `.test.ts`: `npm test` stays quick, and needs no browser
    maxWorkers: Math.max(availableParallelism() - 1, 2), // tests wait half of their time
    testTimeout: 90_000,
    hookTimeout: 90_000,
  },
})
