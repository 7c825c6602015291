import { dirname } from 'node:path'
import type { Claim } from '../../src/spool/claim.ts'
import { type Disk, type DiskEntry, isSameFile } from '../../src/spool/disk.ts'

type Operation =
  | 'makeDirectory'
  | 'list'
  | 'create'
  | 'reopen'
  | 'write'
  | 'close'
  | 'sync'
  | 'read'
  | 'remove'
  | 'claim'

interface File {
  readonly identity: string
  /** The content that processes see. */
  bytes: Buffer
  /** The content that a power failure leaves in any case; `undefined` while it may leave nothing. */
  synced: Buffer | undefined
}

/** The disk as one process has it, until the process is killed. */
export interface Mount {
  readonly disk: Disk
  /** Frees the claims of the process. Its code reaches nothing any more. */
  kill(): void
}

/**
 * A disk in memory that forgets unsynced content when the power fails, and fails on demand. Other processes see each
 * write at once, and the write outlives its process.
 */
export class FakeDisk {
  /** The error code with which operations fail. */
  readonly faults = new Map<Operation, string>()
  /** Bytes that the disk still takes. A larger write stops in the middle, as on a real disk. */
  freeBytes = Number.POSITIVE_INFINITY
  readonly #files = new Map<string, File>()
  readonly #directories = new Set<string>()
  readonly #claims = new Map<string, { readonly process: object }>()
  /** The files removed since the last power failure, which may bring them back. */
  readonly #removed = new Map<string, File>()
  #filesMade = 0

  mount(): Mount {
    const process = {}
    const open = new Map<number, { path: string; file: File }>()
    let files = 0
    let isKilled = false
    const meet = (operation: Operation, path: string): void => {
      const code = isKilled ? 'EKILLED' : this.faults.get(operation)
      if (code !== undefined) throw failure(code, operation, path)
    }
    const disk: Disk = {
      makeDirectory: path => {
        meet('makeDirectory', path)
        this.#directories.add(path)
      },
      list: async (path, isWanted) => {
        meet('list', path)
        return this.#list(path).filter(({ name }) => isWanted(name))
      },
      removeDirectory: path => {
        meet('remove', path)
        if (this.#list(path).length > 0) throw failure('ENOTEMPTY', 'rmdir', path)
        this.#directories.delete(path)
      },
      create: path => {
        meet('create', path)
        if (!this.#directories.has(dirname(path))) throw failure('ENOENT', 'open', path)
        if (this.#files.has(path)) throw failure('EEXIST', 'open', path)
        const file = this.#newFile(Buffer.alloc(0))
        this.#files.set(path, file)
        open.set(++files, { path, file })
        return files
      },
      reopen: (path, written) => {
        meet('reopen', path)
        const file = this.#files.get(path)
        if (file === undefined || !isSameFile({ ...file, bytes: file.bytes.length }, written)) return undefined
        open.set(++files, { path, file })
        return files
      },
      identify: number => (open.get(number) ?? notOpen()).file.identity,
      openNothing: () => {
        open.set(++files, { path: '/dev/null', file: this.#newFile(Buffer.alloc(0)) })
        return files
      },
      write: (number, bytes, from, to) => {
        const { path, file } = open.get(number) ?? notOpen()
        meet('write', path)
        const taken = Math.min(to - from, this.freeBytes)
        if (taken === 0) throw failure('ENOSPC', 'write', path)
        this.freeBytes -= taken
        file.bytes = Buffer.concat([file.bytes, bytes.subarray(from, from + taken)])
        return taken
      },
      truncate: (number, bytes) => {
        const { path, file } = open.get(number) ?? notOpen()
        meet('write', path)
        this.freeBytes += file.bytes.length - bytes
        file.bytes = file.bytes.subarray(0, bytes)
      },
      close: number => {
        const { path } = open.get(number) ?? notOpen()
        open.delete(number) // the file is closed even if that fails
        meet('close', path)
      },
      sync: async path => {
        meet('sync', path)
        const file = this.#fileAt(path)
        file.synced = file.bytes
      },
      read: async (path, scratch) => {
        meet('read', path)
        const { bytes } = this.#fileAt(path)
        if (scratch === undefined || bytes.length > scratch.length) return Buffer.from(bytes)
        scratch.set(bytes)
        return scratch.subarray(0, bytes.length)
      },
      readNow: path => {
        meet('read', path)
        return Buffer.from(this.#fileAt(path).bytes)
      },
      remove: path => {
        meet('remove', path)
        const file = this.#files.get(path)
        if (file === undefined) return
        this.#files.delete(path)
        this.#removed.set(path, file)
        this.freeBytes += file.bytes.length
      },
      empty: path => {
        meet('write', path)
        const file = this.#fileAt(path)
        this.freeBytes += file.bytes.length
        file.bytes = Buffer.alloc(0)
      },
      stat: path => {
        if (this.#directories.has(path)) return { identity: path, bytes: 0 }
        const file = this.#files.get(path)
        return file && { identity: file.identity, bytes: file.bytes.length }
      },
      assertPrivate: () => {},
      claim: path => {
        meet('claim', path)
        if (!this.#directories.has(path) || this.#claims.has(path)) return undefined
        const owner = { process }
        const isOwner = () => this.#claims.get(path) === owner
        this.#claims.set(path, owner)
        const claim: Claim = {
          renew: () => {
            if (!this.#directories.has(path)) return 'removed'
            if (!this.#claims.has(path)) this.#claims.set(path, owner)
            return isOwner() ? 'held' : 'taken'
          },
          touch: async () => {},
          release: () => void (isOwner() && this.#claims.delete(path)),
        }
        return claim
      },
      adopt: async path => disk.claim(path),
    }
    const kill = (): void => {
      isKilled = true
      for (const [path, owner] of this.#claims) if (owner.process === process) this.#claims.delete(path)
    }
    return { disk, kill }
  }

  /**
   * Keeps the synced content of each file, and any part of the rest: `share` of it, then `share` of the remainder as
   * zeros.
   */
  failPower(share: () => number): void {
    for (const [path, file] of this.#removed)
      if (share() < 0.5 && file.synced !== undefined) this.#files.set(path, file)
    this.#removed.clear()
    for (const [path, file] of [...this.#files]) {
      const synced = file.synced?.length ?? 0
      if (file.synced === undefined && share() < 0.3) {
        this.#files.delete(path)
        continue
      }
      const end = synced + Math.round((file.bytes.length - synced) * share())
      const written = synced + Math.round((end - synced) * Math.min(1, 2 * share()))
      const bytes = Buffer.concat([file.bytes.subarray(0, written), Buffer.alloc(end - written)])
      this.#files.set(path, { ...file, bytes, synced: bytes })
      this.#directories.add(dirname(path))
    }
  }

  /** Returns every file by its path: as it is, or as a power failure would leave it in any case. */
  images(what: 'seen' | 'synced'): Map<string, Buffer> {
    const all = [...this.#files].map(([path, file]) => [path, what === 'seen' ? file.bytes : file.synced] as const)
    return new Map(all.filter((entry): entry is readonly [string, Buffer] => entry[1] !== undefined))
  }

  /** Removes some files, directories with their content, or signs of owners, as a cleaner of old files does. */
  clean(what: 'files' | 'directories' | 'signs', isMeant: () => boolean): void {
    const directories = new Set(what === 'directories' ? [...this.#directories].filter(isMeant) : [])
    for (const path of directories) this.#directories.delete(path)
    for (const [path, { bytes }] of [...this.#files]) {
      if (!directories.has(dirname(path)) && !(what === 'files' && isMeant())) continue
      this.#files.delete(path)
      this.freeBytes += bytes.length
    }
    for (const path of [...this.#claims.keys()]) {
      if (directories.has(path) || (what === 'signs' && isMeant())) this.#claims.delete(path)
    }
  }

  /** Changes the content of a file. */
  damage(path: string, change: (bytes: Buffer) => Buffer): void {
    const file = this.#fileAt(path)
    file.bytes = change(Buffer.from(file.bytes))
  }

  get directories(): readonly string[] {
    return [...this.#directories]
  }

  /** Returns the claimed directories. */
  get claimed(): readonly string[] {
    return [...this.#claims.keys()]
  }

  #newFile(bytes: Buffer): File {
    return { identity: String(++this.#filesMade), bytes, synced: undefined }
  }

  #fileAt(path: string): File {
    const file = this.#files.get(path)
    if (file === undefined) throw failure('ENOENT', 'open', path)
    return file
  }

  #list(path: string): DiskEntry[] {
    const entries: DiskEntry[] = []
    const isIn = (other: string) => dirname(other) === path
    for (const other of this.#directories) if (isIn(other)) entries.push(entryOf(other, true, 0))
    for (const [other, { bytes }] of this.#files) if (isIn(other)) entries.push(entryOf(other, false, bytes.length))
    return entries
  }
}

function entryOf(path: string, isDirectory: boolean, bytes: number): DiskEntry {
  return { name: path.slice(dirname(path).length + 1), isDirectory, bytes }
}

function failure(code: string, call: string, path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: ${call} '${path}'`), { code })
}

function notOpen(): never {
  throw failure('EBADF', 'write', '')
}
