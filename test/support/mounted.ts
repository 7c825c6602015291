import { mustRunSync } from './run-sync.ts'

/** Mounts a file system in memory, for users who may mount one. Returns `undefined` for others. */
export function mounted(path: string, options: string): Disposable | undefined {
  try {
    mustRunSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path])
  } catch {
    return undefined
  }
  return { [Symbol.dispose]: () => void mustRunSync('umount', ['-l', path]) }
}
