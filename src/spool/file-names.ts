/**
 * The names of everything in a spool:
 *
 *     <spool>/rejected.ndjson                                  events that must not be sent again
 *     <spool>/rejected.1.ndjson                                older ones
 *     <spool>/rejected.lock                                    the lock of a process that renames a full file
 *     <spool>/rejected.resend/                                 the ones that a command is sending again
 *     <spool>/20261121T104103Z-4f2a9c1b-<destination>/         the directory of one process
 *     <spool>/20261121T104103Z-…/000000000001.segment          the lines of one batch
 *     <spool>/20261121T104103Z-…/lock                          the lock of the owner
 *     <spool>/20261121T104103Z-…/5e0c77d1.alive                the liveness socket of the owner
 *
 * Versions of this package share a spool, so a name that has been published stays.
 */

export const deadLettersName = 'rejected.ndjson'
export const olderDeadLettersName = 'rejected.1.ndjson'
export const deadLettersLockName = 'rejected.lock'

export function isDeadLettersName(name: string): boolean {
  return name === deadLettersName || name === olderDeadLettersName
}

export const lockName = 'lock'

const socketSuffix = '.alive'

/** @param random hexadecimal digits, so that no process binds or removes the socket of another */
export function socketName(random: string): string {
  return `${random}${socketSuffix}`
}

export function isSocketName(name: string): boolean {
  return name.endsWith(socketSuffix)
}

/** @param number of the segment in its directory, from 1; sorted by name, older segments come first */
export function segmentName(number: number): string {
  return `${String(number).padStart(12, '0')}.segment`
}

export function isSegmentName(name: string): boolean {
  return /^\d{12}\.segment$/.test(name)
}

/**
 * A directory's name is its creation time, random digits and a destination:
 * `20261121T104103Z-4f2a9c1b-https%3a%2f%2flogs.example.com%2f`. Sorted by name, older directories come first.
 *
 * The content is for that destination, whichever process adopts the directory. A name without a destination comes from
 * an older version, and fits any. Because the destination is in the name, no crash can separate it from the directory.
 */
const directoryPattern = /^\d{8}T\d{6}Z-[0-9a-f]{8}(?:-(?<destination>[\w.%-]+))?$/
/** Some file systems take names of at most 143 bytes. The time and the digits take 26 of them. */
const maxDestinationBytes = 110
/** The end of the year 9999. Later years, and those before 0, have a longer name, which no process would recognize. */
const maxTimeMs = 253_402_300_799_999

/**
 * @param createdAt any time, also an invalid one: a clock may be wrong, or that of a test
 * @param random eight hexadecimal digits
 * @param destination result of `nameOfDestination`
 */
export function directoryName(createdAt: Date, random: string, destination: string): string {
  const ms = Math.min(Math.max(createdAt.getTime() || 0, 0), maxTimeMs)
  const time = new Date(ms).toISOString().replace(/[-:]|\.\d+/g, '')
  return `${time}-${random}-${destination}`
}

/** Returns the time and the digits of a directory's name, which are enough for display. */
export function withoutDestination(directory: string): string {
  return directory.slice(0, '20261121T104103Z-4f2a9c1b'.length)
}

/** Returns the path of a segment, or of its directory if `name` is empty, as it is shown. */
export function shownPath({ directory, name }: { readonly directory: string; readonly name: string }): string {
  const path = withoutDestination(directory)
  return name === '' ? path : `${path}/${name}`
}

export function isDirectoryName(name: string): boolean {
  return directoryPattern.test(name)
}

/** Returns a destination as it is written in directory names: escaped, or a SHA-256 hash if that is too long. */
export function nameOfDestination(destination: string): string {
  const escaped = destination.replace(/[^\w.-]/g, one => `%${one.charCodeAt(0).toString(16).padStart(2, '0')}`)
  if (escaped.length <= maxDestinationBytes) return escaped
  const { createHash } = process.getBuiltinModule('node:crypto')
  return createHash('sha256').update(destination).digest('hex')
}

/** Returns the destination in a directory's name for display; `undefined` if the name has none. */
export function destinationIn(directory: string): string | undefined {
  const escaped = directoryPattern.exec(directory)?.groups?.destination
  return escaped?.replace(/%([0-9a-f]{2})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
}

/** True if the content of a directory is for this destination, given as in directory names. */
export function isFor(destination: string, directory: string): boolean {
  const named = directoryPattern.exec(directory)?.groups?.destination
  return named === undefined || named === destination
}

/** Directory of the refused events that `logferry spool resend-rejected` is sending. */
export const resendName = 'rejected.resend'
