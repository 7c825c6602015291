import { builtinModule } from '../node-version.ts'
import { ownProperties } from '../own-properties.ts'

/** Not by `import`, which reads every export of the module (1 ms), and so loads parts that are never needed. */
export const fs = builtinModule('node:fs')

/** Flag that refuses to open a symbolic link. Windows has no such flag. */
export const noFollow = fs.constants.O_NOFOLLOW ?? 0
/** Flag to open without waiting, if a pipe is in place of the file. Windows has no such flag. */
export const nonBlocking = fs.constants.O_NONBLOCK ?? 0
export const ownerOnly = 0o600

/** Returns an identity that a file or directory keeps as long as it exists; `undefined` if the path has none. */
export function identityOf(path: string): string | undefined {
  return statOf(path)?.identity
}

/** Returns the same identity from the stats of a file. */
export function identityIn({ dev, ino }: { readonly dev: number; readonly ino: number }): string {
  return [dev, ino].join(':') // a template would keep its parts: 70 bytes more for each of thousands of files
}

/**
 * Returns `undefined` if there is no file at the path.
 *
 * @throws any error from the disk if it gives no answer
 */
export function statOf(path: string): { readonly identity: string; readonly bytes: number } | undefined {
  try {
    const stat = fs.lstatSync(path, ownProperties({ throwIfNoEntry: false }))
    return stat && { identity: identityIn(stat), bytes: stat.size }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined
    throw error
  }
}
