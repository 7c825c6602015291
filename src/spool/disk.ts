import type { Stats } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { adopt, type Claim, claim, removeDirectory } from './claim.ts'
import { fs, identityIn, isOurs, noFollow, ownerOnly, statOf } from './node-fs.ts'
import { assertPrivate } from './private-directory.ts'

/** What the spool needs of a file system. Everything throws as `node:fs` does. */
export interface Disk {
  /** Makes a directory for its owner alone, and the way to it. */
  makeDirectory(path: string): void
  /**
   * What stands in a directory; nothing where there is none. Links, and what belongs to another user, are left out. However
   * much there is, the event loop has its turns meanwhile.
   */
  list(path: string): Promise<DiskEntry[]>
  removeDirectory(path: string): void
  /** Makes a file for its owner alone, where there is none yet, to be written from its start to its end. */
  create(path: string): number
  /**
   * Opens a file again that was made by `create`, to be written at its end; `undefined` if it is gone, or another file
   * stands in its place.
   */
  reopen(path: string, identity: string): number | undefined
  /** The same as `stat` tells of the file that is being written. */
  identify(file: number): string
  /** Opens a file that holds nothing, for the sake of its descriptor. */
  openNothing(): number
  /** Writes at the end; returns how many bytes were written, which may be less than given. */
  write(file: number, bytes: Uint8Array, from: number, to: number): number
  /** Leaves so many bytes of a file that is being written. */
  truncate(file: number, bytes: number): void
  close(file: number): void
  /** Resolves when what was written cannot be lost in a failure of power any more. */
  sync(path: string): Promise<void>
  read(path: string): Promise<Buffer>
  /** The same where the event loop stands still. */
  readNow(path: string): Buffer
  remove(path: string): void
  /** Throws where it cannot be told. */
  stat(path: string): FileState | undefined
  /** Throws an `UnsafePath` where another user could write to a directory, or put another in its place. */
  assertPrivate(path: string): void
  /**
   * Claims a directory that this process has just made, as long as it lives or until `release`; `undefined` when another has
   * been faster. Of any number of processes, also in containers that share a volume, one at a time has it.
   */
  claim(path: string): Claim | undefined
  /** Claims a directory that another process has made, if it has no owner any more. */
  adopt(path: string): Promise<Claim | undefined>
}

export interface FileState {
  /** Stays the same while it is the same file, whatever its name. */
  readonly identity: string
  readonly bytes: number
}

export interface DiskEntry {
  readonly name: string
  readonly isDirectory: boolean
  readonly bytes: number
}

const { constants } = fs
const ownerOnlyDirectory = 0o700
/** So many files are looked at in one turn of the event loop. */
const listedAtOnce = 128
/** Where a pipe stands in place of a file, no reader is waited for; Windows has no such flag. */
const nonBlocking = constants.O_NONBLOCK ?? 0

export const nodeDisk: Disk = {
  makeDirectory(path) {
    try {
      fs.mkdirSync(path, { recursive: true, mode: ownerOnlyDirectory })
    } catch (error) {
      // Node says ENOENT for whatever went wrong below a directory that is there: this says what it was.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') makeFirstMissing(path)
      throw error
    }
  },
  async list(path) {
    const entries: DiskEntry[] = []
    const names = await namesIn(path)
    for (let from = 0; from < names.length; from += listedAtOnce) {
      const some = names.slice(from, from + listedAtOnce)
      const stats = await Promise.all(some.map(name => statIfThere(join(path, name))))
      for (const [index, stat] of stats.entries()) {
        if (stat === undefined || !(stat.isFile() || stat.isDirectory()) || !isOurs(stat.uid)) continue
        entries.push({ name: some[index] as string, isDirectory: stat.isDirectory(), bytes: stat.size })
      }
    }
    return entries
  },
  removeDirectory,
  create(path) {
    // Appending, so that a file that another process has emptied stays too short, and is noticed.
    const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_EXCL | noFollow
    return fs.openSync(path, flags, ownerOnly)
  },
  reopen(path, identity) {
    const file = openIfThere(path, constants.O_WRONLY | constants.O_APPEND | noFollow | nonBlocking)
    if (file === undefined) return undefined
    const stat = fs.fstatSync(file)
    if (stat.isFile() && isOurs(stat.uid) && identityIn(stat) === identity) return file
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
    const file = await fs.promises.open(path, constants.O_RDWR | noFollow)
    try {
      await file.datasync()
    } finally {
      await file.close()
    }
  },
  async read(path) {
    return fs.promises.readFile(path, { flag: (constants.O_RDONLY | noFollow) as never })
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
  stat: statOf,
  assertPrivate,
  claim,
  adopt,
}

const outOfDescriptors: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE'])
const passing: ReadonlySet<unknown> = new Set([...outOfDescriptors, 'ENOMEM', 'EAGAIN'])

/** Whether there is no file descriptor left, in this process or on this machine. */
export function isOutOfDescriptors(error: unknown): boolean {
  return outOfDescriptors.has((error as NodeJS.ErrnoException).code)
}

/** Whether a failure says nothing of the disk: no file can be opened at the moment. */
export function isPassing(error: unknown): boolean {
  return passing.has((error as NodeJS.ErrnoException).code)
}

/** Whatever else stands there than a file that may be written is not the file that is looked for. */
const otherThings: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'EISDIR'])

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

function makeFirstMissing(path: string): void {
  let missing = resolve(path)
  while (dirname(missing) !== missing && !fs.existsSync(dirname(missing))) missing = dirname(missing)
  fs.mkdirSync(missing, { mode: ownerOnlyDirectory })
}
