/** Test files that must not share a process do not, and the lists name files that exist. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { alone, longest } from './processes.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

it('every listed test file exists', () => {
  expect([...alone, ...longest].filter(file => !existsSync(`${root}${file}`))).toEqual([])
})

it('a test file that replaces modules, clocks or globals has a process of its own', () => {
  const files = globSync('test/**/*.test.ts', { cwd: root, exclude: ['test/apps/**', 'test/package/**'] })
  expect(files.length).toBeGreaterThan(190)
  const replacing = files.filter(file =>
    /\bvi\.(mock|useFakeTimers|stubGlobal)\(/.test(readFileSync(`${root}${file}`, 'utf8')),
  )
  expect(replacing).toContain('test/delivery/delivery.test.ts')
  expect(replacing.filter(file => !alone.includes(file))).toEqual([])
})
