import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    maxWorkers: Math.max(availableParallelism() - 1, 2), // half of the time is spent waiting for the clock
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
})
