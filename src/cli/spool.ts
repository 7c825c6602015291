/** Functions that the `spool` commands share. */
import { readdirSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { UnsafePath } from '../files/private-directory.ts'
import { TooLarge } from '../spool/dead-letter-files.ts'
import { isDirectoryName, isFor, nameOfDestination, withoutDestination } from '../spool/file-names.ts'
import { type ProcessContents, type SpoolContents, spoolContents } from '../spool/inspect.ts'
import { counted } from '../text/counted.ts'
import { diskRemedies } from '../text/disk-remedies.ts'
import { toShortLine } from '../text/short-line.ts'
import { systemCode } from '../text/system-code.ts'
import { type Command, type Given, Misuse } from './command.ts'
import { printError } from './print.ts'
import { Progress } from './progress.ts'

/** Maximum length of a path in a message, in characters. Longer paths are cut. */
export const maxPathChars = 1000

/** The directory of a spool, as the commands take it: an argument or an option. */
export const spoolDirectory = {
  arguments: [
    {
      name: 'directory',
      description: "the directory of the application's option spool",
      completes: 'directories',
    },
  ],
  options: {
    directory: {
      value: 'path',
      description: 'the directory, if it is not given as [directory]',
      completes: 'directories',
    },
  },
} as const satisfies Pick<Command, 'arguments' | 'options'>

export function directoryOf({ directory }: Given): string {
  if (directory === undefined || directory === '') {
    throw new Misuse("no directory given. Give the directory of the application's option spool.")
  }
  return spoolAt(String(directory))
}

/**
 * Returns the path of a spool. Prints a hint if it seems to be none.
 *
 * @throws Misuse if it is the directory of one process, within a spool
 */
function spoolAt(given: string): string {
  const path = resolve(given)
  if (isDirectoryName(basename(path))) {
    throw new Misuse(
      `${toShortLine(path, undefined, maxPathChars)} is the directory of one process. Give the spool, which is ${toShortLine(dirname(path), undefined, maxPathChars)}.`,
    )
  }
  hintIfOther(path)
  return path
}

/** Prints a hint if a directory holds files, but none of a spool: the user may have given the wrong one. */
function hintIfOther(path: string): void {
  let names: readonly string[]
  try {
    names = readdirSync(path)
  } catch {
    return // the command explains why it cannot read the directory
  }
  const others = names.filter(name => name !== volumeFolder)
  if (others.length === 0 || others.some(name => isDirectoryName(name) || name.startsWith(rejectedPrefix))) return
  printError(
    `logferry: ${toShortLine(path, undefined, maxPathChars)} holds no files of a spool. Is it the directory of the option spool?`,
  )
}

/** A folder at the top of many volumes. */
const volumeFolder = 'lost+found'
/** The beginning of the names of all files with refused events. */
const rejectedPrefix = 'rejected.'

const maxTimeoutSeconds = 1_000_000

/** @throws Misuse */
export function timeoutMsOf({ timeout }: Given): number | undefined {
  if (timeout === undefined) return undefined
  const seconds = /^\d+(\.\d+)?$/.test(String(timeout)) ? Number(timeout) : Number.NaN
  if (seconds > 0 && seconds <= maxTimeoutSeconds) return seconds * 1000
  throw new Misuse(`--timeout must be a number of seconds above 0, up to ${maxTimeoutSeconds}, not '${timeout}'`)
}

const userRemedy = 'Run this as the user that the application runs as.'

/** Reads the contents of a spool. Prints the reason and returns `undefined` if the spool cannot be read. */
export async function lookInto(directory: string): Promise<SpoolContents | undefined> {
  let events = 0
  const progress = new Progress(process.stderr.isTTY, () => `Reading the spool: ${counted(events, 'event')} so far`)
  try {
    return await spoolContents(directory, count => {
      events += count
    })
  } catch (error) {
    explainUnreadable(error, directory)
    return undefined
  } finally {
    progress.end()
  }
}

/**
 * Prints the reason why a spool cannot be read, or why a command cannot write to it. Returns the exit code. Throws any error
 * that is not of the disk.
 */
export function explainUnreadable(error: unknown, directory: string, action: 'read' | 'written' = 'read'): 1 {
  const path = toShortLine(directory, undefined, maxPathChars)
  if (error instanceof UnsafePath) {
    const reason = toShortLine(error.message, undefined, maxPathChars)
    printError(`logferry: ${path} is not used, because ${reason}. ${userRemedy}`)
    return 1
  }
  if (error instanceof TooLarge) {
    printError(`logferry: ${toShortLine(error.message, undefined, maxPathChars)}. Split the file.`)
    return 1
  }
  if ((error as NodeJS.ErrnoException).syscall === undefined) throw error
  printError(`logferry: ${troubleOf(path, systemCode(error as Error), action)}`)
  return 1
}

function troubleOf(path: string, code: string | undefined, action: 'read' | 'written'): string {
  if (code === 'ENOENT') return `the directory ${path} does not exist. Check the path.`
  if (code === 'ENOTDIR') return `${path} is not a directory. Check the path.`
  const trouble = `${path} cannot be ${action} (${code}).`
  const remedy = code === 'EACCES' || code === 'EPERM' ? undefined : diskRemedies.get(String(code))
  if (remedy === undefined) return `${trouble} ${userRemedy}`
  return `${trouble} ${remedy}${action === 'written' ? ' Then run this again.' : ''}`
}

/**
 * Returns the directory of the option `--spool`; `undefined` without the option.
 *
 * @throws Misuse
 */
export function spoolOf({ spool }: Given): string | undefined {
  if (spool === undefined) return undefined
  if (spool === '') throw new Misuse("--spool must be the directory of an application's option spool")
  return spoolAt(String(spool))
}

/**
 * Returns the orphaned directories that hold segments. With `to`, returns only those that may be sent to that
 * destination.
 */
export function leftBehind({ processes }: SpoolContents, to?: string): ProcessContents[] {
  const destination = to && nameOfDestination(to)
  return processes.filter(({ name, isInUse, segments }) => {
    return !isInUse && segments > 0 && (destination === undefined || isFor(destination, name))
  })
}

/** Returns the directories that running processes use. */
export function inUse({ processes }: SpoolContents): ProcessContents[] {
  return processes.filter(({ isInUse }) => isInUse)
}

export function sum(processes: readonly ProcessContents[]) {
  const total = { segments: 0, events: 0, bytes: 0, damaged: 0 }
  for (const process of processes) {
    total.segments += process.segments
    total.events += process.events
    total.bytes += process.bytes
    total.damaged += process.damaged
  }
  return total
}

/** Returns notes about the directories that cannot be read. */
export function unreadableNotes({ foreignDirectories, unreadableDirectories }: SpoolContents): string[] {
  const notes = Object.entries(unreadableDirectories).map(([name, reason]) => `${withoutDestination(name)}: ${reason}.`)
  if (foreignDirectories === 0) return notes
  const are = counted(foreignDirectories, 'directory belongs', 'directories belong')
  return [...notes, `${are} to another user, and cannot be read. ${userRemedy}`]
}

/** True if the spool has directories that cannot be read. */
export function hasUnreadable({ foreignDirectories, unreadableDirectories }: SpoolContents): boolean {
  return foreignDirectories > 0 || Object.keys(unreadableDirectories).length > 0
}
