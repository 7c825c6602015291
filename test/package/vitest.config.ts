/** The packed tarball, installed by applications outside this repository: `npm run test:package`. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['*.check.ts'], // not `.test.ts`: `npm test` stays quick, and needs no registry
    globalSetup: 'pack.ts',
    testTimeout: 120_000,
    hookTimeout: 300_000,
  },
})
