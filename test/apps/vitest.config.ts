/** The apps of `examples/apps`, installed, started and ended as their users do: `npm run test:examples`. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['*.check.ts'], // not `.test.ts`: `npm test` stays quick, and needs no registry
    globalSetup: 'install.ts',
    testTimeout: 30_000,
    hookTimeout: 240_000,
  },
})
