import type { Stats } from 'node:fs'
import { join } from 'node:path'
import { makePrivateDirectory } from '../files/make-private-directory.ts'
import { assertPrivate, isOurs } from '../files/private-directory.ts'
import { builtinModule } from '../node-version.ts'
import { isOutOfDescriptors } from '../text/out-of-descriptors.ts'
import { adopt, type Claim, claim, removeDirectory } from './claim.ts'
import { fs, identityIn, noFollow, nonBlocking, ownerOnly, statOf } from './node-fs.ts'
import { maxSegmentBytes } from './segment-format.ts'

/** The file system operations of the spool. Each one throws as `node:fs` does. */
export interface Disk {
  /** Creates a directory for its owner alone, and its missing parents. */
  makeDirectory(path: string): void
  /**
   * Lists the entries of a directory whose names pass `isWanted`; returns none if the directory does not exist. Skips
   * links, and entries of other users. The event loop gets its turns during a long listing.
   *
   * @param onForeign called with the name of each directory of another user
   */
  list(path: string, isWanted: (name: string) => boolean, onForeign?: (name: string) => void): Promise<DiskEntry[]>
  removeDirectory(path: string): void
  /** Creates a file for its owner alone, to be written from start to end. Throws if the file exists. */
  create(path: string): number
  /**
   * Reopens a file made by `create`, to be written at its end. Returns `undefined` if the file is gone, or if another
   * file is in its place.
   */
  reopen(path: string, written: FileState): number | undefined
  /** Returns the identity of an open file, the same as `stat` returns. */
  identify(file: number): string
  /** Opens a file without content, only to occupy a descriptor. */
  openNothing(): number
  /** Writes at the end. Returns the number of bytes written, which may be fewer than given. */
  write(file: number, bytes: Uint8Array, from: number, to: number): number
  /** Cuts an open file to its first `bytes` bytes. */
  truncate(file: number, bytes: number): void
  close(file: number): void
  /** Resolves when a power failure can no longer lose the bytes written. */
  sync(path: string): Promise<void>
  /**
   * Reads a file: into `scratch`, of which the result is then a part, if the file fits. A file larger than `maxSegmentBytes` is
   * an error with the code of `readFile`.
   */
  read(path: string, scratch?: Buffer): Promise<Buffer>
  /** Reads in one call, for when the event loop has stopped. */
  readNow(path: string): Buffer
  remove(path: string): void
  /** Removes the content of a file. */
  empty(path: string): void
  /** Returns `undefined` if the file does not exist. Throws if the disk gives no answer. */
  stat(path: string): FileState | undefined
  /** Throws an `UnsafePath` if another user could write to the directory, or could put another one in its place. */
  assertPrivate(path: string): void
  /**
   * Claims a directory that this process has just created, until `release` or the end of the process. Returns
   * `undefined` if another process was faster. Only one process at a time has the claim, even among containers that
   * share a volume.
   */
  claim(path: string): Claim | undefined
  /** Claims a directory of another process, if it has no owner any more. */
  adopt(path: string): Promise<Claim | undefined>
}

export interface FileState {
  /** Usually stays the same for the life of the file, even if its name changes. See `isSameFile`. */
  readonly identity: string
  readonly bytes: number
}

/**
 * True if a file is the one that was written, and not shorter. Its length alone is enough: file systems such as sshfs
 * give a closed file a new inode number from time to time. A longer file must have its identity, if that is known.
 */
export function isSameFile(found: FileState, written: { identity: string | undefined; bytes: number }): boolean {
  if (found.bytes <= written.bytes) return found.bytes === written.bytes
  return written.identity === undefined || found.identity === written.identity
}

export interface DiskEntry {
  readonly name: string
  readonly isDirectory: boolean
  readonly bytes: number
}

const { constants } = fs
const { promisify } = builtinModule('node:util')
const datasync = promisify(fs.fdatasync)
const readPart = promisify(fs.read)
/** Number of files examined in one turn of the event loop. */
const listedAtOnce = 128

export const nodeDisk: Disk = {
  makeDirectory(path) {
    makePrivateDirectory(path)
  },
  async list(path, isWanted, onForeign) {
    const entries: DiskEntry[] = []
    const names = (await namesIn(path)).filter(isWanted) // before a look at the files: others may be any number
    for (let from = 0; from < names.length; from += listedAtOnce) {
      const some = names.slice(from, from + listedAtOnce)
      const stats = await Promise.all(some.map(name => statIfThere(join(path, name))))
      for (const [index, stat] of stats.entries()) {
        if (stat === undefined || !(stat.isFile() || stat.isDirectory())) continue
        const name = some[index] as string
        if (isOurs(stat.uid)) entries.push({ name, isDirectory: stat.isDirectory(), bytes: stat.size })
        else if (stat.isDirectory()) onForeign?.(name)
      }
    }
    return entries
  },
  removeDirectory,
  create(path) {
    // Append mode: if another process empties the file, it stays too short, and the watch notices that.
    const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_EXCL | noFollow
    return fs.openSync(path, flags, ownerOnly)
  },
  reopen(path, written) {
    const file = openIfThere(path, constants.O_WRONLY | constants.O_APPEND | noFollow | nonBlocking)
    if (file === undefined) return undefined
    const stat = fs.fstatSync(file)
    const found = { identity: identityIn(stat), bytes: stat.size }
    if (stat.isFile() && isOurs(stat.uid) && isSameFile(found, written)) return file
    fs.closeSync(file)
    return undefined
  },
  identify(file) {
    return identityIn(fs.fstatSync(file))
  },
  openNothing() {
    return fs.openSync(process.platform === 'win32' ? '\\\\.\\nul' : '/dev/null', constants.O_RDONLY)
  },
  write(file, bytes, from, to) {
    return fs.writeSync(file, bytes, from, to - from)
  },
  truncate(file, bytes) {
    fs.ftruncateSync(file, bytes)
  },
  close(file) {
    fs.closeSync(file)
  },
  async sync(path) {
    const file = openNow(path, constants.O_RDWR)
    try {
      await datasync(file)
    } finally {
      fs.closeSync(file)
    }
  },
  async read(path, scratch) {
    const file = openNow(path, constants.O_RDONLY)
    try {
      const { size } = fs.fstatSync(file)
      if (size > maxSegmentBytes)
        throw Object.assign(new Error('the file is too large'), { code: 'ERR_FS_FILE_TOO_LARGE' })
      const buffer = scratch !== undefined && size <= scratch.length ? scratch : Buffer.allocUnsafeSlow(size)
      // Not by `readFile`: given a descriptor, it takes a failed read for the end of the file.
      let end = 0
      while (end < size) {
        const { bytesRead } = await readPart(file, buffer, end, size - end, null)
        if (bytesRead === 0) break // the file has become shorter
        end += bytesRead
      }
      return buffer.subarray(0, end)
    } finally {
      fs.closeSync(file)
    }
  },
  readNow(path) {
    return fs.readFileSync(path, { flag: (constants.O_RDONLY | noFollow) as never })
  },
  remove(path) {
    try {
      fs.unlinkSync(path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  },
  empty(path) {
    fs.closeSync(fs.openSync(path, constants.O_WRONLY | constants.O_TRUNC | noFollow))
  },
  stat: statOf,
  assertPrivate,
  claim,
  adopt,
}

const passing: ReadonlySet<unknown> = new Set(['ENOMEM', 'EAGAIN'])

/** True if a failure is no sign of a bad disk: no file can be opened at the moment. */
export function isPassing(error: unknown): boolean {
  return isOutOfDescriptors(error) || passing.has((error as NodeJS.ErrnoException).code)
}

/** Errors of `open` that mean that the path has no file, or something other than a writable file. */
const otherThings: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'EISDIR'])

/**
 * Opens a file in this turn. The thread pool could open it while a write has closed one file and not yet opened its own,
 * and so take the last file descriptor from the write.
 */
function openNow(path: string, flags: number): number {
  return fs.openSync(path, flags | noFollow | nonBlocking)
}

function openIfThere(path: string, flags: number): number | undefined {
  try {
    return fs.openSync(path, flags)
  } catch (error) {
    if (otherThings.has((error as NodeJS.ErrnoException).code)) return undefined
    throw error
  }
}

async function namesIn(path: string): Promise<string[]> {
  return (await unlessGone(fs.promises.readdir(path))) ?? []
}

function statIfThere(path: string): Promise<Stats | undefined> {
  return unlessGone(fs.promises.lstat(path))
}

async function unlessGone<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
