/** What `npm run soak` refuses, before a scenario begins. */
import { expect, it } from 'vitest'
import { runSync } from '../support/run-sync.ts'

it.each([
  [['--only', '20', '--only', 'outrage'], /^soak: --only takes one of: 9, 10, .*outage, /],
  [['--seed', 'three', '--only', 'chaos'], "soak: --seed must be a whole number, at least 1, not 'three'"],
  [['--processes', '0'], "soak: --processes must be a whole number, at least 1, not '0'"],
  [['--fleet'], "soak: Unknown option '--fleet'. The options are "],
])('refuses %j', (args, message) => {
  const { status, stdout, stderr } = runSync(process.execPath, ['test/soak/soak.ts', ...args])
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  if (typeof message === 'string') expect(stderr).toContain(message)
  else expect(stderr).toMatch(message)
  expect(stderr).not.toContain('    at ')
})
