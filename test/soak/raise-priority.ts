import type { ChildProcess } from 'node:child_process'
import { constants, setPriority } from 'node:os'

/**
 * Lets a process go before others of this machine, as if it had one of its own: what measures must not wait for what is
 * measured. Does nothing if the user may not do that.
 */
export function raisePriority({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_HIGH)
  } catch {
    // Then the figures tell how late it was.
  }
}
