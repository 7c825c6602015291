import { dirname, join, resolve } from 'node:path'

/** Not by `import`, which would read all that the module exports (1 ms), and so load what nobody asks for. */
export const fs = process.getBuiltinModule('node:fs')

/** What the spool needs of a file system. Everything throws as `node:fs` does. */
export interface Disk {
  /** Makes a directory for its owner alone, and the way to it. */
  makeDirectory(path: string): void
  /** What stands in a directory; nothing where there is none. Links, and what belongs to another user, are left out. */
  list(path: string): DiskEntry[]
  removeDirectory(path: string): void
  /** Makes a file for its owner alone, where there is none yet, to be written from its start to its end. */
  create(path: string): number
  /**
   * Opens a file again that was made by `create`, to be written at its end; `undefined` if it is gone, or another file
   * stands in its place.
   */
  reopen(path: string, identity: FileIdentity): number | undefined
  /** Which file it is that is being written. */
  identify(file: number): FileIdentity
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
  has(path: string): boolean
  /**
   * Claims a directory for this process, as long as it lives or until `release`; `undefined` when somebody has it. Of any
   * number of processes, also in containers that share a volume, one at a time has it.
   */
  claim(path: string): Claim | undefined
}

export interface DiskEntry {
  readonly name: string
  readonly isDirectory: boolean
  readonly bytes: number
}

/** Tells a file from any other that stands at its path later. */
export interface FileIdentity {
  readonly dev: number
  readonly ino: number
}

export interface Claim {
  release(): void
}

const { constants } = fs
const ownerOnly = 0o600
const ownerOnlyDirectory = 0o700
const noFollow = constants.O_NOFOLLOW ?? 0 // Windows has none
/** Where a pipe stands in place of a file, no reader is waited for; Windows has no such flag. */
const nonBlocking = constants.O_NONBLOCK ?? 0
const lockName = 'lock'

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
  list(path) {
    const entries: DiskEntry[] = []
    for (const name of namesIn(path)) {
      const stat = fs.lstatSync(join(path, name), { throwIfNoEntry: false })
      if (stat === undefined || !(stat.isFile() || stat.isDirectory()) || !isOurs(stat.uid)) continue
      entries.push({ name, isDirectory: stat.isDirectory(), bytes: stat.size })
    }
    return entries
  },
  removeDirectory(path) {
    fs.rmSync(join(path, lockName), { force: true })
    fs.rmdirSync(path)
  },
  create(path) {
    return fs.openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | noFollow, ownerOnly)
  },
  reopen(path, { dev, ino }) {
    const file = openIfThere(path, constants.O_WRONLY | constants.O_APPEND | noFollow | nonBlocking)
    if (file === undefined) return undefined
    const stat = fs.fstatSync(file)
    if (stat.isFile() && isOurs(stat.uid) && stat.dev === dev && stat.ino === ino) return file
    fs.closeSync(file)
    return undefined
  },
  identify(file) {
    return fs.fstatSync(file)
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
  has(path) {
    return fs.existsSync(path)
  },
  claim(path) {
    return claimByLock(join(path, lockName))
  },
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

function namesIn(path: string): string[] {
  try {
    return fs.readdirSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** A directory that others may write to must not become a way to have us send what they like. */
export function isOurs(uid: number): boolean {
  return process.getuid === undefined || uid === process.getuid()
}

const sqliteBusy = 5
const sqliteCannotOpen = 14
const sqliteNoDatabase = 26

/**
 * Node has no call for locking a file, but SQLite is part of it, and locks in a way that the kernel undoes when the process
 * dies: no stale lock, no guess from a process id, which says nothing across containers.
 */
function claimByLock(path: string): Claim | undefined {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  try {
    fs.closeSync(fs.openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | noFollow, ownerOnly))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined // the directory has just been given up by its heir
    if (code !== 'EEXIST') throw error
    if (!fs.lstatSync(path, { throwIfNoEntry: false })?.isFile()) return undefined // SQLite would follow a link
  }
  let database: InstanceType<typeof DatabaseSync> | undefined
  try {
    database = new DatabaseSync(path, { timeout: 0 })
    // In memory, what belongs to a transaction leaves no file of its own.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    database?.close()
    const { errcode } = error as { errcode?: number }
    if (errcode === sqliteBusy || errcode === sqliteCannotOpen) return undefined
    if (errcode !== sqliteNoDatabase) throw error
    // Something was written to it, which SQLite takes for a damaged database. To remove it could take it from another heir.
    fs.closeSync(fs.openSync(path, constants.O_WRONLY | constants.O_TRUNC | noFollow))
    return claimByLock(path)
  }
  const lock = database
  if (fs.existsSync(path)) return { release: () => lock.close() }
  lock.close() // the heir that had it has removed the directory
  return undefined
}

function makeFirstMissing(path: string): void {
  let missing = resolve(path)
  while (dirname(missing) !== missing && !fs.existsSync(dirname(missing))) missing = dirname(missing)
  fs.mkdirSync(missing, { mode: ownerOnlyDirectory })
}
