import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Removes the files below a directory that were written before a time. Files that are gone meanwhile do not matter. */
export function pruneOldFiles(directory: string, beforeMs: number): void {
  for (const name of entriesOf(directory)) {
    const path = join(directory, name)
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat?.isFile() === true && stat.mtimeMs < beforeMs) rmSync(path, { force: true })
  }
}

function entriesOf(directory: string): string[] {
  try {
    return readdirSync(directory, { recursive: true, encoding: 'utf8' })
  } catch {
    return [] // there is no such directory yet
  }
}
