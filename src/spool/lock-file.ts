import { isOurs, UnsafePath } from '../files/private-directory.ts'
import { ownProperties } from '../own-properties.ts'
import { fs, identityIn, identityOf, noFollow, ownerOnly, statOf } from './node-fs.ts'

const { constants } = fs
const sqliteBusy = 5
const sqliteIoError = 10
const sqliteDamaged = 11
const sqliteCannotOpen = 14
const sqliteNoDatabase = 26
/** SQLite opens no file whose path, with links resolved, is longer. */
const maxPathBytes = 504
/** Time that a renewal waits for a process that only inspects the lock, in milliseconds. */
const renewWaitMs = 20

type Database = InstanceType<ReturnType<typeof sqlite>['DatabaseSync']>

/**
 * A lock that the kernel releases when its process dies. So no lock is ever stale, and no guess from a process id is
 * needed; process ids mean nothing across containers. Node cannot lock a file, but it includes SQLite, which locks its
 * database files.
 *
 * These are POSIX locks: a process loses its lock, without notice, when it closes any descriptor of the file. Code that
 * reads every file of a directory does that. So the lock is renewed from time to time, and is not the only sign of an
 * owner.
 */
export class LockFile {
  readonly #path: string
  #database: Database
  #identity: string

  private constructor(path: string, database: Database, identity: string) {
    this.#path = path
    this.#database = database
    this.#identity = identity
  }

  /**
   * Takes the lock. Returns `undefined` if another process has the lock, or if the directory is gone.
   *
   * @throws UnsafePath if the lock file is a link, has a second name, or belongs to another user: SQLite must not open it
   * @throws any error from the disk
   */
  static take(path: string): LockFile | undefined {
    if (!makeFile(path)) return undefined
    const identity = ownFileAt(path)
    if (identity === undefined) {
      if (identityOf(path) === undefined) return undefined
      throw new UnsafePath(`${path} is a link, has a second name, or is no file of this user`, 'Remove that lock file.')
    }
    assertWritable(path)
    let database: Database | undefined
    try {
      database = new (sqlite().DatabaseSync)(path, ownProperties({ timeout: 0 }))
      // With the journal in memory, a transaction makes no file of its own.
      database.exec(`PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; PRAGMA busy_timeout = ${renewWaitMs}`)
    } catch (error) {
      database?.close()
      const { errcode } = error as { errcode?: number }
      if (errcode === sqliteCannotOpen && isTooLong(path))
        throw Object.assign(error as Error, { code: 'ENAMETOOLONG', syscall: 'lock' })
      if (errcode === sqliteBusy || errcode === sqliteCannotOpen) return undefined
      // The extended codes of an error have that of the error in their last byte.
      const kind = (errcode ?? 0) & 0xff
      const isDamaged = kind === sqliteNoDatabase || kind === sqliteDamaged
      // SQLite may also report a failed read as damage, even of an empty file.
      if (kind === sqliteIoError || (isDamaged && statOf(path)?.bytes === 0))
        throw Object.assign(error as Error, { code: 'EIO', syscall: 'lock' })
      if (!isDamaged) throw error
      // Another program wrote to the file, and SQLite takes it for a damaged database. Removing the file could take the
      // lock from another adopter, so the file is emptied.
      fs.closeSync(fs.openSync(path, constants.O_WRONLY | constants.O_TRUNC | noFollow))
      return LockFile.take(path)
    }
    if (identityOf(path) === identity) return new LockFile(path, database, identity)
    database.close() // it was removed or replaced in between: the lock of another file protects nothing
    return undefined
  }

  /** True if another process has the lock. Creates no file, and takes the lock from no process. */
  static isTaken(path: string): boolean {
    if (ownFileAt(path) === undefined) return false
    let database: Database | undefined
    try {
      // A read fails while another process has the lock. It delays other processes by some microseconds.
      database = new (sqlite().DatabaseSync)(path, { readOnly: true, timeout: 0 })
      database.prepare('SELECT count(*) FROM sqlite_schema').get()
      return false
    } catch (error) {
      return (error as { errcode?: number }).errcode === sqliteBusy
    } finally {
      database?.close()
    }
  }

  /**
   * Takes the lock again, even if its file is gone. Returns false if another process has it now, or the directory is
   * gone.
   *
   * @throws any error from the disk
   */
  renew(): boolean {
    if (identityOf(this.#path) === this.#identity) {
      try {
        this.#database.exec('ROLLBACK; BEGIN EXCLUSIVE') // not a commit, which would write
        return true
      } catch (error) {
        if ((error as { errcode?: number }).errcode === sqliteBusy) return false
      }
    }
    this.release()
    const renewed = LockFile.take(this.#path)
    if (renewed === undefined) return false
    this.#database = renewed.#database
    this.#identity = renewed.#identity
    return true
  }

  release(): void {
    if (this.#database.isOpen) this.#database.close()
  }
}

/** @throws an error of the spool if this Node has no SQLite, because of an option or of its build */
function sqlite() {
  const module = process.getBuiltinModule('node:sqlite') as typeof import('node:sqlite') | undefined
  if (module === undefined) throw Object.assign(new Error('Node has no SQLite'), { code: 'ERR_UNKNOWN_BUILTIN_MODULE' })
  return module
}

function isTooLong(path: string): boolean {
  try {
    return Buffer.byteLength(fs.realpathSync(path)) > maxPathBytes
  } catch {
    return false // the file is gone
  }
}

/** Creates the lock file, or keeps an existing one. Returns false if its adopter has just removed the directory. */
function makeFile(path: string): boolean {
  try {
    fs.closeSync(fs.openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | noFollow, ownerOnly))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return false
    if (code !== 'EEXIST') throw error
  }
  return true
}

/**
 * Refuses a read-only file system: there SQLite opens the file to read, and any number of processes then have the lock.
 *
 * @throws an error of a lock
 */
function assertWritable(path: string): void {
  try {
    fs.accessSync(path, constants.W_OK)
  } catch (error) {
    // Other errors may be wrong: the system looks at the real user of the process, not at the effective one.
    if ((error as NodeJS.ErrnoException).code === 'EROFS') throw Object.assign(error as Error, { syscall: 'lock' })
  }
}

/**
 * Returns the identity of the lock file; `undefined` if SQLite must not open it. SQLite would follow a symbolic link,
 * and write to a file that has other names, too.
 */
function ownFileAt(path: string): string | undefined {
  const stat = fs.lstatSync(path, ownProperties({ throwIfNoEntry: false }))
  if (!stat?.isFile() || stat.nlink > 1 || !isOurs(stat.uid)) return undefined
  return identityIn(stat)
}
