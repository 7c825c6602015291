import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { UnsafePath } from '../../files/private-directory.ts'
import { nodeDisk } from '../../spool/disk.ts'
import { nameOfDestination } from '../../spool/file-names.ts'
import { SpoolDirectory } from '../../spool/spool-directory.ts'
import { diskRemedies } from '../../text/disk-remedies.ts'
import { systemCode } from '../../text/system-code.ts'
import { SystemDate } from '../../time.ts'
import { type Finding, fail, type HealthCheck, ok, skipped, warn } from './health-check.ts'

const MiB = 1_048_576
const GiB = 1024 * MiB
/** Bytes written to see if the disk takes them. */
const testedBytes = 256 * 1024
/** A name that no spool has: another process leaves the file alone. */
const testFile = 'check'

export const spool: HealthCheck = {
  name: 'spool',
  after: [],
  async run({ settings, destination }) {
    if (settings.spool === undefined) return skipped('only with --spool <directory>')
    const directory = resolve(settings.spool)
    let created: string | undefined
    try {
      nodeDisk.assertPrivate(directory)
      created = firstMissing(directory)
      nodeDisk.makeDirectory(directory)
      useOnce(directory, destination ?? 'check')
      return judge(directory)
    } catch (error) {
      return trouble(directory, error)
    } finally {
      if (created !== undefined) removeAgain(directory, created)
    }
  },
}

/** Returns the first directory of a path that does not exist; `undefined` if the whole path does. */
function firstMissing(directory: string): string | undefined {
  if (fs.existsSync(directory)) return undefined
  return firstMissing(dirname(directory)) ?? directory
}

/**
 * Does in the spool what a shipper does: makes a directory, locks it, writes and syncs a file, and removes all. If the
 * command is killed meanwhile, it leaves an empty directory, which the next process of the application removes.
 */
function useOnce(root: string, destination: string): void {
  const directory = SpoolDirectory.make({
    root,
    destination: nameOfDestination(destination),
    disk: nodeDisk,
    now: new SystemDate(),
    random: () => randomBytes(4).toString('hex'),
    onReleased: () => {},
  })
  const path = join(directory.path, testFile)
  try {
    const file = nodeDisk.create(path)
    try {
      removeOpen(path)
      for (let written = 0; written < testedBytes; ) {
        written += nodeDisk.write(file, new Uint8Array(testedBytes - written), 0, testedBytes - written)
      }
      fs.fdatasyncSync(file)
    } finally {
      nodeDisk.close(file)
    }
  } finally {
    fs.rmSync(path, { force: true })
    directory.release()
  }
}

/** Removes a file that is open. Its bytes are freed when it is closed. Windows does not allow it. */
function removeOpen(path: string): void {
  try {
    fs.unlinkSync(path)
  } catch {
    // The file is removed after it is closed.
  }
}

function judge(directory: string): Finding {
  const { bavail, bsize } = fs.statfsSync(directory)
  const freeBytes = bavail * bsize
  const detail = `${directory} is writable, only for this user; locks work; ${inWords(freeBytes)} are free`
  const values = { directory, freeBytes }
  if (freeBytes >= GiB) return ok(detail, values)
  return warn(
    detail,
    'A spool takes up to 1 GiB, unless spool.maxBytes says otherwise. Lower it, or make room.',
    values,
  )
}

const codesOfRights: ReadonlySet<string> = new Set(['EACCES', 'EPERM'])

function trouble(directory: string, error: unknown): Finding {
  const { message } = error as Error
  const code = systemCode(error as Error) ?? ''
  if (error instanceof UnsafePath) {
    return fail(
      message,
      'Use a directory that belongs to the user of the application, with chmod 700, below directories of root.',
    )
  }
  if (message === 'no file can be locked in the directory') {
    return fail(`${directory}: ${message}`, 'Use a local disk, or mount the network file system with locks.')
  }
  const remedy = diskRemedies.get(code) ?? 'Use another directory, or another disk.'
  return fail(
    `${directory} cannot be used (${code || message})`,
    codesOfRights.has(code) ? `${remedy} Run this check as that user.` : remedy,
    { code },
  )
}

/** Removes the directories that the check has created, from the last one up, as long as they are empty. */
function removeAgain(directory: string, created: string): void {
  try {
    for (let path = directory; path.startsWith(created); path = dirname(path)) {
      if (fs.existsSync(path)) fs.rmdirSync(path)
    }
  } catch {
    // Another process has begun to use the directory.
  }
}

function inWords(bytes: number): string {
  return bytes >= GiB ? `${(bytes / GiB).toFixed(1)} GiB` : `${(bytes / MiB).toFixed(1)} MiB`
}
