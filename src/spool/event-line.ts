import { builtinModule } from '../node-version.ts'
import { newline, type SegmentRecord } from './segment-format.ts'

const { isUtf8 } = builtinModule('node:buffer')
/**
 * Checks a line that another process has written. A line that is not exactly one JSON object would change the meaning
 * of its request, or break the handling of the answer.
 *
 * @returns the reason why the line must not be sent, or `undefined` if it may be sent
 */
export function whyNoEvent({ line }: SegmentRecord): string | undefined {
  return isOneLine(line) && isUtf8(line) && isObject(line) ? undefined : 'it is not one JSON object on one line'
}

function isOneLine(line: Buffer): boolean {
  return line.indexOf(newline) === line.length - 1
}

/**
 * True if the line is a JSON object. Reading it as Latin-1 takes two thirds of the time, and JSON has no syntax beyond
 * ASCII.
 */
function isObject(line: Buffer): boolean {
  if (line[0] !== 0x7b) return false // {
  try {
    JSON.parse(line.toString('latin1'))
    return true
  } catch {
    return false
  }
}
