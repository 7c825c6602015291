import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach } from 'vitest'

// The processes of a machine share rates and license by the address of the service, and keep them for seconds. A test may
// get a port that another test has used just before. So each test has a temporary directory of its own.

const { TMPDIR: shared } = process.env
const own: string[] = []

beforeEach(() => {
  useShared()
  const directory = fs.mkdtempSync(join(tmpdir(), 'logferry-test-'))
  own.push(directory)
  process.env.TMPDIR = directory
})

afterAll(() => {
  useShared()
  for (const directory of own.splice(0)) fs.rmSync(directory, { recursive: true, force: true })
})

function useShared(): void {
  if (shared === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = shared
}
