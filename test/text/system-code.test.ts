import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import { describe, expect, it } from 'vitest'
import { diskReason, diskRemedy } from '../../src/shipper/disk-trouble.ts'
import { fileTrouble } from '../../src/text/file-trouble.ts'
import { systemCode } from '../../src/text/system-code.ts'

const { EDQUOT, ESTALE } = constants.errno

/** An error as Node throws it. Its two ways to make one name an unknown code in two ways. */
function failure(code: string, errno: number): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: unknown error, write`), { code, errno, syscall: 'write' })
}

describe.skipIf(process.platform === 'win32')('a code that Node does not name', () => {
  it.each([
    ['EDQUOT', failure('UNKNOWN', -EDQUOT), /quota of this user/],
    ['EDQUOT', failure(getSystemErrorName(-EDQUOT), -EDQUOT), /quota of this user/],
    ['ESTALE', failure('UNKNOWN', -ESTALE), /Mount it again/],
  ])('is %s, and leads to its remedy', (code, error, remedy) => {
    expect(error.code).toMatch(/unknown/i)
    expect(diskReason(error)).toBe(code)
    expect(diskRemedy(error, 'none')).toMatch(remedy)
    expect(fileTrouble('read', error)).toContain(`(${code})`)
  })
})

it.each([
  ['EROFS', failure('EROFS', -30)],
  ['UNKNOWN', failure('UNKNOWN', -4094)],
  [undefined, new Error('no code')],
])('the code %s stays as it is', (code, error) => {
  expect(systemCode(error)).toBe(code)
})
