import { join } from 'node:path'
import { builtinModule } from '../node-version.ts'
import { systemTimeMs } from '../time.ts'
import { makePrivateDirectory } from './make-private-directory.ts'
import { assertPrivate, isOurs, UnsafePath } from './private-directory.ts'

const fs = builtinModule('node:fs')
const { O_CREAT, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = fs.constants

/** Time after which a file that no process has written to is removed, in milliseconds. */
const fileHoldsMs = 3_600_000

const fileName = /^[\da-f]{32}\.(?:rates|license|reader)(?:\.[\da-f]{12})?$/

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
 * Calls `use` with an open file of such a directory and its size, and returns the result; returns `undefined` if the file
 * does not exist and is not to be created. The file is closed in the same turn, because a log call may need its descriptor:
 * the last one of the process.
 *
 * @throws UnsafePath if the file may be of another user, who may have made the directory anew since it was checked
 * @throws any error from the disk or from `use`
 */
export function useFile<T>(path: string, flags: number, use: (file: number, bytes: number) => T): T | undefined {
  const file = openIfThere(path, flags)
  if (file === undefined) return undefined
  try {
    const stat = fs.fstatSync(file)
    if (!stat.isFile() || !isOurs(stat.uid) || stat.nlink > 1)
      throw new UnsafePath(`${path} is not a regular file of this user with one name`)
    return use(file, stat.size)
  } finally {
    fs.closeSync(file)
  }
}

function openIfThere(path: string, flags: number): number | undefined {
  try {
    return fs.openSync(path, flags | O_NOFOLLOW | O_NONBLOCK, 0o600)
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    if (isMissing && (flags & O_CREAT) === 0) return undefined
    throw error
  }
}

function removeIfOld(path: string): void {
  try {
    if (systemTimeMs() - fs.lstatSync(path).mtimeMs > fileHoldsMs) fs.unlinkSync(path)
  } catch {
    // Another process has removed the file, or it does no harm.
  }
}
