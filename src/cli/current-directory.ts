/** What to do if a command fails because the directory in which it runs no longer exists. */
export const directoryRemoved = {
  problem: 'the current directory has been removed',
  remedy: 'Change to a directory that exists, or give absolute paths.',
}

/** True if Node has thrown the error because the current directory no longer exists. */
export function isDirectoryRemoved(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).syscall === 'uv_cwd'
}
