import { fs, identityIn, identityOf, isOurs, noFollow, ownerOnly } from './node-fs.ts'

const { constants } = fs
const sqliteBusy = 5
const sqliteCannotOpen = 14
const sqliteNoDatabase = 26
/** How long a renewal waits for a process that only looks at the lock, in milliseconds. */
const renewWaitMs = 20

type Database = InstanceType<ReturnType<typeof sqlite>['DatabaseSync']>

/**
 * A lock that the kernel undoes when its process dies: no stale lock, no guess from a process id, which says nothing across
 * containers. Node has no call for locking a file, but SQLite is part of it, and locks its files.
 *
 * These are POSIX locks: one is lost, without notice, when any descriptor of the file is closed in its process. Who only
 * reads every file of a directory does that. So it is renewed from time to time, and it is not the only sign of an owner.
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
   * Takes the lock; `undefined` when another process has it, or its directory is gone.
   *
   * @throws what the disk throws
   */
  static take(path: string): LockFile | undefined {
    if (!makeFile(path)) return undefined
    const identity = ownFileAt(path)
    if (identity === undefined) return undefined
    let database: Database | undefined
    try {
      database = new (sqlite().DatabaseSync)(path, { timeout: 0 })
      // In memory, what belongs to a transaction leaves no file of its own.
      database.exec(`PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; PRAGMA busy_timeout = ${renewWaitMs}`)
    } catch (error) {
      database?.close()
      const { errcode } = error as { errcode?: number }
      if (errcode === sqliteBusy || errcode === sqliteCannotOpen) return undefined
      if (errcode !== sqliteNoDatabase) throw error
      // Something was written to it, which SQLite takes for a damaged database. To remove it could take it from another heir.
      fs.closeSync(fs.openSync(path, constants.O_WRONLY | constants.O_TRUNC | noFollow))
      return LockFile.take(path)
    }
    if (identityOf(path) === identity) return new LockFile(path, database, identity)
    database.close() // it was removed or replaced meanwhile: the lock of another file locks nothing
    return undefined
  }

  /** True if another process has the lock. Makes no file, and takes the lock from no process that has it. */
  static isTaken(path: string): boolean {
    if (ownFileAt(path) === undefined) return false
    let database: Database | undefined
    try {
      // Reading tells, as no process can read while another has the lock. It holds up others for some microseconds.
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
   * Takes the lock once more, also if its file is gone; `false` when another process has it by now.
   *
   * @throws what the disk throws
   */
  renew(): boolean {
    if (identityOf(this.#path) === this.#identity) {
      try {
        this.#database.exec('ROLLBACK; BEGIN EXCLUSIVE') // a commit would write
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

function sqlite() {
  return process.getBuiltinModule('node:sqlite')
}

/** `false` where there is no directory for it: its heir has just given it up. */
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

/** SQLite would follow a symbolic link, and write to a file that has other names as well. */
function ownFileAt(path: string): string | undefined {
  const stat = fs.lstatSync(path, { throwIfNoEntry: false })
  if (!stat?.isFile() || stat.nlink > 1 || !isOurs(stat.uid)) return undefined
  return identityIn(stat)
}
