import { randomBytes } from 'node:crypto'
import { closeSync, constants, fstatSync, linkSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makePrivateDirectory } from '../files/make-private-directory.ts'
import { stateDirectory } from './state-directory.ts'

const fileName = 'dev-token'
const tokenBytes = 24
const othersMode = 0o077
/** Follows no symbolic link, and does not wait if a pipe is in place of the file. Windows has no such flags. */
const readOnly = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** Characters that a shell leaves alone: the user pastes the printed token into a shell. */
const tokenPattern = /^[\w.~+/=-]{8,512}$/

/** True if a text can be the token. Fewer characters, or digits alone, would be found in ordinary texts. */
export function isToken(text: string): boolean {
  return tokenPattern.test(text) && /[A-Za-z]/.test(text)
}

/** The token of `logferry dev` on this machine, and why it could not be kept for the next run, if so. */
export interface StableToken {
  readonly token: string
  readonly problem?: string
}

/** Returns the token of earlier runs, or makes a random one and keeps it in a file that only this user may read. */
export function stableToken(directory: string = stateDirectory()): StableToken {
  const path = join(directory, fileName)
  try {
    makePrivateDirectory(directory)
    return { token: readToken(path) ?? createToken(path) }
  } catch (error) {
    return { token: newToken(), problem: `the token is for this run only: ${(error as Error).message}` }
  }
}

/** @throws Error if another user could have read or written the file */
function readToken(path: string): string | undefined {
  let file: number
  try {
    file = openSync(path, readOnly)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    const { uid, mode } = fstatSync(file)
    const isOwn = process.geteuid === undefined || (uid === process.geteuid() && (mode & othersMode) === 0)
    if (!isOwn) throw new Error(`other users may read or write ${path}; delete the file, or run chmod 600 on it`)
    const token = readFileSync(file, 'utf8').trim()
    return isToken(token) ? token : replacedToken(path)
  } finally {
    closeSync(file)
  }
}

/** A file that was cut short by a full disk, or edited, has no token. */
function replacedToken(path: string): string {
  rmSync(path)
  return createToken(path)
}

/**
 * Writes a new token. Two processes may do so at the same time. A complete file takes its name only if the name is free,
 * and the process that comes second reads the token of the first.
 */
function createToken(path: string): string {
  const token = newToken()
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  try {
    writeFileSync(draft, `${token}\n`, { mode: 0o600, flag: 'wx' })
    linkSync(draft, path)
    return token
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return readToken(path) ?? token
  } finally {
    rmSync(draft, { force: true })
  }
}

function newToken(): string {
  return `dev-${randomBytes(tokenBytes).toString('base64url')}`
}
