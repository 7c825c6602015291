import { invalidOption } from '../errors.ts'
import {
  type CollapseOptions,
  type HoldOptions,
  heldSeverities,
  type ResolvedCollapse,
  type ResolvedHold,
} from './noise-options.ts'

/** Share of the memory budget for held events. */
const heldShare = 0.25

export function resolveCollapse({ windowMs = 10_000 }: CollapseOptions): ResolvedCollapse {
  return { windowMs }
}

/**
 * @throws RangeError with `code` `LOGFERRY_INVALID_OPTION` if an event could be held that releases others, or if
 * `maxBytes` is more than a quarter of the memory budget
 */
export function resolveHold(options: HoldOptions, maxBufferedBytes: number): ResolvedHold {
  const { below = 'warn', trigger = 'error', maxEvents = 5000, maxAgeMs = 60_000 } = options
  if (heldSeverities.indexOf(below) > heldSeverities.indexOf(trigger)) {
    throw invalidOption('hold.below', `at most as severe as hold.trigger ('${trigger}')`, `'${below}'`, 'range')
  }
  const share = Math.floor(maxBufferedBytes * heldShare)
  const maxBytes = options.maxBytes ?? Math.min(4_194_304, share)
  if (maxBytes > share) {
    throw invalidOption('hold.maxBytes', `at most a quarter of maxBufferedBytes (${share})`, `${maxBytes}`, 'range')
  }
  return { below, trigger, maxEvents, maxBytes, maxAgeMs }
}
