import { mkdirSync, mkdtempDisposableSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { pruneOldFiles } from './support/prune-old-files.ts'

it('removes the files of a cache that no run has written for some time, and nothing of a missing one', () => {
  using cache = mkdtempDisposableSync(join(tmpdir(), 'logferry-cache-'))
  mkdirSync(join(cache.path, 'v24'))
  for (const [name, seconds] of [
    ['v24/old', 100],
    ['old', 199],
    ['v24/new', 200],
  ] as const) {
    writeFileSync(join(cache.path, name), '')
    utimesSync(join(cache.path, name), seconds, seconds)
  }
  pruneOldFiles(cache.path, 200_000)
  pruneOldFiles(join(cache.path, 'missing'), 200_000)
  expect(readdirSync(cache.path, { recursive: true }).toSorted()).toEqual(['v24', join('v24', 'new')])
})
