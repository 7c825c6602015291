import { dirname, isAbsolute, join, parse, resolve, sep } from 'node:path'
import { builtinModule } from '../node-version.ts'
import { ownProperties } from '../own-properties.ts'

const fs = builtinModule('node:fs')

const worldWritable = 0o002
const groupWritable = 0o020
const sticky = 0o1000
const setGroupId = 0o2000
const rootUser = 0
const rootGroup = 0
const maxSymlinks = 40

type Stats = import('node:fs').Stats

/** Thrown if another user could change the target of a path, or could have created it. The path is not used. */
export class UnsafePath extends Error {
  readonly remedy: string

  constructor(message: string, remedy = 'Use a directory that no other user owns or may write to.') {
    super(message)
    this.remedy = remedy
  }
}

/** True if a file belongs to the effective user of this process. Always true on Windows, which has no user ids. */
export function isOurs(uid: number): boolean {
  return process.geteuid === undefined || uid === process.geteuid()
}

/**
 * Checks that no other user but root can write to a directory, or put another one in its place. The check covers the
 * whole path from the root, through symbolic links. Parts of the path that do not exist yet are skipped. A file in the
 * place of a directory is not refused here: any use of it as a directory fails.
 *
 * A parent that every user may write to is accepted if it is sticky, like `/tmp`. The top of a volume that belongs to
 * root is accepted with any mode. If that top sets the group id, its group may write below it. Containers get volumes
 * in this way (`emptyDir`, `fsGroup`). Any other group that may write must be root's, or the process's own.
 *
 * @throws UnsafePath
 * @throws any error from the disk
 */
export function assertPrivate(directory: string): void {
  if (process.geteuid === undefined) return // Windows has other permissions, and separates users by default
  const { root } = parse(resolve(directory))
  const ahead = namesOf(resolve(directory))
  let path = root
  let device: number | undefined
  let volumeGroup: number | undefined
  for (let symlinks = 0; ; ) {
    const stat = fs.lstatSync(path, ownProperties({ throwIfNoEntry: false }))
    if (stat === undefined) return
    refuseOtherOwner(path, stat)
    if (stat.isSymbolicLink()) {
      if (++symlinks > maxSymlinks)
        throw new UnsafePath(`${path} is a symbolic link in a chain of more than ${maxSymlinks}`)
      const target = fs.readlinkSync(path)
      ahead.unshift(...(isAbsolute(target) ? [] : namesOf(dirname(path))), ...namesOf(target))
      path = root
      device = undefined
      continue
    }
    if (!stat.isDirectory()) return // its rights, such as those of `/dev/null`, are not the problem
    const isTop = stat.dev !== device
    if (isTop) volumeGroup = stat.uid === rootUser && (stat.mode & setGroupId) !== 0 ? stat.gid : undefined
    const isAcceptedAsItIs = (isTop && stat.uid === rootUser) || (ahead.length > 0 && (stat.mode & sticky) !== 0)
    if (!isAcceptedAsItIs) refuseOtherWriters(path, stat, volumeGroup)
    device = stat.dev
    const name = ahead.shift()
    if (name === undefined) return
    if (name !== '..') path = join(path, name)
    else {
      ahead.unshift(...namesOf(dirname(path)))
      path = root
      device = undefined
    }
  }
}

function namesOf(path: string): string[] {
  return path.split(sep).filter(name => name !== '')
}

function refuseOtherOwner(path: string, { uid }: Stats): void {
  if (uid === rootUser || uid === process.geteuid?.()) return
  throw new UnsafePath(`${path} belongs to another user (id ${uid}), not to this process's user or root`)
}

function refuseOtherWriters(path: string, { mode, gid }: Stats, volumeGroup: number | undefined): void {
  const isOwnGroup = gid === process.getegid?.() || gid === rootGroup || gid === volumeGroup
  if ((mode & worldWritable) !== 0) {
    // Other programs need such a directory, `/tmp` for example, as it is.
    const remedy = (mode & sticky) !== 0 ? 'use a directory below it' : 'run chmod o-w on it'
    throw new UnsafePath(`any user may write to ${path}; ${remedy}`)
  }
  if ((mode & groupWritable) === 0 || isOwnGroup) return
  throw new UnsafePath(`the group ${gid} may write to ${path}; run chmod g-w on it`)
}
