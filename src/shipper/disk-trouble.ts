import { UnsafePath } from '../files/private-directory.ts'
import { diskRemedies } from '../text/disk-remedies.ts'
import { descriptorsRemedy, isOutOfDescriptors } from '../text/out-of-descriptors.ts'
import { toShortLine } from '../text/short-line.ts'
import { systemCode } from '../text/system-code.ts'

/** Maximum characters of a reason: the error about an unsafe path names the path. */
const maxReasonChars = 1000

/** Says why a directory cannot be used. */
export function diskReason(error: unknown): string {
  return toShortLine(String(systemCode(error as Error) ?? (error as Error).message), undefined, maxReasonChars)
}

/** Says what to do about it, or `otherwise` if the error has no remedy of its own. */
export function diskRemedy(error: unknown, otherwise: string): string {
  if (error instanceof UnsafePath) return error.remedy
  if (isOutOfDescriptors(error)) return descriptorsRemedy
  return diskRemedies.get(String(systemCode(error as Error))) ?? otherwise
}
