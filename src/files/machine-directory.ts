import { join } from 'node:path'
import { builtinModule } from '../node-version.ts'
import { systemTimeMs } from '../time.ts'
import { makePrivateDirectory } from './make-private-directory.ts'
import { assertPrivate, isOurs, UnsafePath } from './private-directory.ts'

const fs = builtinModule('node:fs')

/** Time after which a file that no process has written to is removed, in milliseconds. */
const fileHoldsMs = 3_600_000

const fileName = /^[\da-f]{32}\.(?:rates|license|reader)(?:\.[\da-f]{12})?$/

type FileHandle = import('node:fs/promises').FileHandle

/**
 * Creates the directory of the files by which the processes of a machine agree, if it is missing. Removes files that are no
 * longer used.
 *
 * @throws UnsafePath if another user could write to the directory
 * @throws any error from the disk
 */
export function prepareMachineDirectory(directory: string): void {
  assertPrivate(directory)
  makePrivateDirectory(directory)
  assertPrivate(directory) // again: another user may have created it since
  for (const name of fs.readdirSync(directory)) if (fileName.test(name)) removeIfOld(join(directory, name))
}

/**
 * Returns the state of a file of such a directory.
 *
 * @throws UnsafePath if the file may be of another user, who may have made the directory anew since it was checked
 */
export async function checkedStat(file: FileHandle, path: string): Promise<import('node:fs').Stats> {
  const stat = await file.stat()
  if (!stat.isFile() || !isOurs(stat.uid) || stat.nlink > 1)
    throw new UnsafePath(`${path} is not a regular file of this user with one name`)
  return stat
}

/** Returns `undefined` for the error of a missing file, and throws any other one. */
export function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

function removeIfOld(path: string): void {
  try {
    if (systemTimeMs() - fs.lstatSync(path).mtimeMs > fileHoldsMs) fs.unlinkSync(path)
  } catch {
    // Another process has removed the file, or it does no harm.
  }
}
