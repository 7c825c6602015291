const codes: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE'])

/** True if no file descriptor is left, in this process or on this machine. */
export function isOutOfDescriptors(error: unknown): boolean {
  return codes.has((error as NodeJS.ErrnoException).code)
}

/** Does the same with the text of a reason. */
export function namesLackOfDescriptors(reason: string): boolean {
  return /\bE[MN]FILE\b/.test(reason)
}

export const descriptorsRemedy = 'Find out what keeps so many files open, or raise the limit (ulimit -n).'
