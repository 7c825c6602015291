import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { DeadLetters } from '../../src/spool/dead-letters.ts'
import { ResendDirectory } from '../../src/spool/resend-directory.ts'
import { makeSpool } from '../support/spool-of-test.ts'

it('takes the other files if an application renames a full one just then, and leaves that one to the next run', async () => {
  using spool = makeSpool()
  const [path, older] = ['rejected.ndjson', 'rejected.1.ndjson'].map(name => join(spool.directory, name)) as [
    string,
    string,
  ]
  const application = new DeadLetters(spool.directory, error => expect.fail(String(error)), 10)
  for (const n of [1, 2])
    application.write([{ dataset: 'd', json: `{"n":${n}}`, status: 400, reason: 'no' }], new Date(0))
  application.close()
  const directory = await ResendDirectory.open(spool.directory)
  const { renameSync } = fs
  const builtin = process.getBuiltinModule('node:fs')
  const rename = vi.spyOn(builtin, 'renameSync').mockImplementationOnce((...given) => {
    renameSync(...given)
    renameSync(path, older)
  })
  directory?.moveIn()
  rename.mockRestore()
  expect([...(directory?.letters() ?? [])]).toMatchObject([{ event: { n: 1 } }])
  expect(directory?.putBack()).toBe(1)
  expect([older, path].map(file => fs.readFileSync(file, 'utf8'))).toEqual([
    expect.stringContaining('"n":2'),
    expect.stringContaining('"n":1'),
  ])
  directory?.close()
})
