import { join } from 'node:path'
import { systemTimeMs } from '../time.ts'
import { hasSocket, isOwnerAlive, LivenessSocket, removeDeadSockets } from './liveness-socket.ts'
import { LockFile } from './lock-file.ts'
import { fs, identityOf } from './node-fs.ts'

/**
 * What has become of a claim: it is held, or the directory is gone from its path, or another process has the directory.
 */
export type ClaimState = 'held' | 'removed' | 'taken'

/** A directory that is this process's alone. */
export interface Claim {
  /** Puts right what others have removed of the signs by which they know that the directory is claimed. Never throws. */
  renew(): ClaimState
  /** Makes the directory and all that is in it look used, so that cleaners of old files leave them. Never rejects. */
  touch(): Promise<void>
  release(): void
}

const lockName = 'lock'

/**
 * Claims a directory that this process has just made; `undefined` when another has come first.
 *
 * @throws what the disk throws
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
 * Claims a directory that another process has made, if it has no owner any more. Either sign of an owner is enough, for each
 * may fail: the lock is lost by reading its file, or with it; the socket is lost with its file, and not all have one.
 *
 * @throws what the disk throws
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

/** True if a process has claimed the directory. Changes nothing in it. */
export async function isClaimed(path: string): Promise<boolean> {
  return (await isOwnerAlive(path)) || LockFile.isTaken(join(path, lockName))
}

/** Removes a directory that is empty but for the lock. If another process has adopted it meanwhile, it stays. */
export function removeDirectory(path: string): void {
  if (!hasSocket(path)) fs.rmSync(join(path, lockName), { force: true })
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
      if (!this.#lock.renew()) return identityOf(this.#path) === this.#identity ? 'taken' : 'removed'
      if (this.#socket?.isThere) return 'held'
      this.#socket?.close()
      this.#socket = LivenessSocket.listen(this.#path)
    } catch {
      // The disk cannot tell now.
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
      // It is gone, which is noticed elsewhere.
    }
  }

  release(): void {
    this.#socket?.close()
    this.#lock.release()
  }
}
