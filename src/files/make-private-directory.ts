import { dirname, resolve } from 'node:path'
import { builtinModule } from '../node-version.ts'
import { ownProperties } from '../own-properties.ts'

const fs = builtinModule('node:fs')

const ownerRights = 0o700

/**
 * Creates a directory that only this user may enter, and its missing parents. Does nothing if the directory exists.
 * Node's `recursive` never returns if a file system calls a directory missing whose parent exists, as `/proc` does.
 *
 * @throws any error from the disk
 */
export function makePrivateDirectory(path: string): void {
  const missing = [resolve(path)]
  for (let at = dirname(missing[0] as string); !fs.existsSync(at) && dirname(at) !== at; at = dirname(at)) {
    missing.unshift(at)
  }
  for (const directory of missing) {
    try {
      fs.mkdirSync(directory, ownProperties({ mode: ownerRights }))
      giveToOwner(directory)
    } catch (error) {
      // If it is a directory, it was there, or another process has created it since.
      if (!fs.statSync(directory, ownProperties({ throwIfNoEntry: false }))?.isDirectory()) throw error
    }
  }
}

/** Gives the owner the rights that the process's umask has taken: one of 0177, meant for files, would keep the owner out. */
function giveToOwner(directory: string): void {
  const { mode } = fs.lstatSync(directory)
  if ((mode & ownerRights) !== ownerRights) fs.chmodSync(directory, ownerRights)
}
