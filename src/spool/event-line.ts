import { builtinModule } from '../options/node-version.ts'
import type { SegmentRecord } from './segment-format.ts'

const { isUtf8 } = builtinModule('node:buffer')
const newline = 0x0a

/**
 * Checks a line that another process has written: what is not exactly one JSON object would change the meaning of the
 * request that it is sent in, or break the handling of its answer.
 *
 * @returns why the line must not be sent, `undefined` if it may be
 */
export function whyNoEvent({ line }: SegmentRecord): string | undefined {
  return isOneLine(line) && isUtf8(line) && isObject(line) ? undefined : 'it is not one JSON object on one line'
}

function isOneLine(line: Buffer): boolean {
  return line.indexOf(newline) === line.length - 1
}

/** Read as Latin-1, which takes two thirds of the time: JSON has no syntax beyond ASCII. */
function isObject(line: Buffer): boolean {
  if (line[0] !== 0x7b) return false // {
  try {
    JSON.parse(line.toString('latin1'))
    return true
  } catch {
    return false
  }
}
