import { join } from 'node:path'
import { ownProperties } from '../own-properties.ts'
import { systemTimeMs } from '../time.ts'
import { lockName } from './file-names.ts'
import { hasSocket, isOwnerAlive, LivenessSocket, removeDeadSockets } from './liveness-socket.ts'
import { LockFile } from './lock-file.ts'
import { fs, identityOf } from './node-fs.ts'

/** State of a claim: `held`; `removed` if the directory is gone from its path; `taken` if another process has it. */
export type ClaimState = 'held' | 'removed' | 'taken'

/** Sole ownership of a directory by this process. A lock file and a liveness socket are the signs of an owner. */
export interface Claim {
  /** Restores the lock file and the socket if another program removed them. Never throws. */
  renew(): ClaimState
  /**
   * Updates the times of the directory and its entries, so that cleaners of old files leave them alone. Never rejects.
   */
  touch(): Promise<void>
  release(): void
}

/**
 * Claims a directory that this process has just created. Returns `undefined` if another process claimed it first.
 *
 * @throws any error from the disk
 */
export function claim(path: string): Claim | undefined {
  const identity = identityOf(path)
  const lock = LockFile.take(join(path, lockName))
  if (lock === undefined) return undefined
  if (identity !== undefined && !hasSocket(path)) return new DirectoryClaim(path, identity, lock)
  lock.release()
  return undefined
}

/**
 * Claims a directory of another process, if it has no owner any more. Either sign alone proves an owner, because each
 * sign may fail. The lock is lost when code in the owner's process reads the lock file, or when the file is removed.
 * The socket is lost with its file, and some platforms have none.
 *
 * @throws any error from the disk
 */
export async function adopt(path: string): Promise<Claim | undefined> {
  const identity = identityOf(path)
  if (await isOwnerAlive(path)) return undefined
  const lock = LockFile.take(join(path, lockName))
  if (lock === undefined) return undefined
  const isAdoptedMeanwhile = await isOwnerAlive(path)
  if (identity === undefined || isAdoptedMeanwhile) {
    lock.release()
    return undefined
  }
  removeDeadSockets(path)
  return new DirectoryClaim(path, identity, lock)
}

/** True if a process has claimed the directory. Changes nothing in the directory. */
export async function isClaimed(path: string): Promise<boolean> {
  return (await isOwnerAlive(path)) || LockFile.isTaken(join(path, lockName))
}

/**
 * Removes a directory that is empty except for the lock file.
 *
 * @throws any error from the disk, for example if another process has adopted the directory in between: then it stays
 */
export function removeDirectory(path: string): void {
  if (!hasSocket(path)) fs.rmSync(join(path, lockName), ownProperties({ force: true }))
  fs.rmdirSync(path)
}

class DirectoryClaim implements Claim {
  readonly #path: string
  readonly #identity: string
  readonly #lock: LockFile
  #socket: LivenessSocket | undefined

  constructor(path: string, identity: string, lock: LockFile) {
    this.#path = path
    this.#identity = identity
    this.#lock = lock
    this.#socket = LivenessSocket.listen(path)
  }

  renew(): ClaimState {
    try {
      if (identityOf(this.#path) !== this.#identity) return 'removed'
      const isLocked = this.#lock.renew()
      // A process that has taken the lock meanwhile sees the socket, and gives the lock back: see `adopt`.
      if (this.#socket?.exists) return 'held'
      if (!isLocked) return identityOf(this.#path) === this.#identity ? 'taken' : 'removed'
      this.#socket?.close()
      this.#socket = LivenessSocket.listen(this.#path)
    } catch {
      // The disk gives no answer now: the claim counts as held.
    }
    return 'held'
  }

  async touch(): Promise<void> {
    const now = new Date(systemTimeMs())
    try {
      for (const name of ['', ...(await fs.promises.readdir(this.#path))]) {
        await fs.promises.lutimes(join(this.#path, name), now, now).catch(() => {})
      }
    } catch {
      // The directory is gone, which `renew` notices.
    }
  }

  release(): void {
    this.#socket?.close()
    this.#lock.release()
  }
}
