import { systemCode } from './system-code.ts'

/** Says why a file cannot be used, and what to do about it. The sentence begins after the name of the file. */
export function fileTrouble(action: 'read' | 'written', error: NodeJS.ErrnoException): string {
  const { syscall, message } = error
  const code = systemCode(error)
  if (syscall === undefined) return `cannot be ${action}: ${message}.`
  return `cannot be ${action} (${code}). ${remedyOf(code)}`
}

function remedyOf(code: string | undefined): string {
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'Check the path.'
  if (code === 'EISDIR') return 'The path is that of a directory: name a file.'
  return 'Check the file and its permissions.'
}
