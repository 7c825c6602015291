import { invalidOption } from '../errors.ts'
import {
  type CollapseOptions,
  collapseOptions,
  type HoldOptions,
  heldSeverities,
  holdOptions,
  type ResolvedCollapse,
  type ResolvedHold,
} from './noise-options.ts'
import { withDefaults } from './with-defaults.ts'

/** Share of the memory budget for held events. */
const heldShare = 0.25

export function resolveCollapse(options: CollapseOptions): ResolvedCollapse {
  return withDefaults(collapseOptions, options)
}

/**
 * @throws RangeError with `code` `LOGFERRY_INVALID_OPTION` if an event could be held that releases others, or if
 * `maxBytes` is more than a quarter of the memory budget
 */
export function resolveHold(options: HoldOptions, maxBufferedBytes: number): ResolvedHold {
  const { below, trigger, maxEvents, maxBytes, maxAgeMs } = withDefaults(holdOptions, options)
  if (heldSeverities.indexOf(below) > heldSeverities.indexOf(trigger)) {
    throw options.below === undefined
      ? invalidOption('hold.trigger', `at least as severe as hold.below ('${below}')`, `'${trigger}'`, 'range')
      : invalidOption('hold.below', `at most as severe as hold.trigger ('${trigger}')`, `'${below}'`, 'range')
  }
  const share = Math.floor(maxBufferedBytes * heldShare)
  if (options.maxBytes !== undefined && maxBytes > share) {
    throw invalidOption('hold.maxBytes', `at most a quarter of maxBufferedBytes (${share})`, `${maxBytes}`, 'range')
  }
  return { below, trigger, maxEvents, maxBytes: Math.min(maxBytes, share), maxAgeMs }
}
