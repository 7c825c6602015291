import { builtinModule } from '../options/node-version.ts'
/** Not by `import`, which would read all that the module exports (1 ms), and so load what is never needed. */
export const fs = builtinModule('node:fs')

/** Refuses a symbolic link where a file is to be opened; Windows has no such flag. */
export const noFollow = fs.constants.O_NOFOLLOW ?? 0
export const ownerOnly = 0o600

/** True if a file belongs to the user as whom this process makes its own; Windows has no such users. */
export function isOurs(uid: number): boolean {
  return process.geteuid === undefined || uid === process.geteuid()
}

/** What stays the same while a file or directory is the same one; `undefined` if there is none at that path. */
export function identityOf(path: string): string | undefined {
  return statOf(path)?.identity
}

/** The same of a file that has been looked at. */
export function identityIn({ dev, ino }: { readonly dev: number; readonly ino: number }): string {
  return `${dev}:${ino}`
}

/** @throws what the disk throws if it cannot tell */
export function statOf(path: string): { readonly identity: string; readonly bytes: number } | undefined {
  try {
    const stat = fs.lstatSync(path, { throwIfNoEntry: false })
    return stat && { identity: identityIn(stat), bytes: stat.size }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined
    throw error
  }
}
