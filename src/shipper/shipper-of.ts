import { invalidOption } from '../errors.ts'
import { describedName, kindOf } from '../options/described.ts'
import { optionsOf } from '../options/options-of.ts'
import { type ShipperOptions, shipperOptions } from '../options/shipper-options.ts'
import { unknownOption } from '../options/unknown-option.ts'
import { createShipper, Shipper } from './shipper.ts'

/**
 * Options of a transport, exporter or processor: an existing `shipper`, or the options for a shipper of its own.
 *
 * With `shipper`, every other shipper option throws a `TypeError`.
 */
export type ShipperOrOptions = { readonly shipper: Shipper } | (ShipperOptions & { readonly shipper?: undefined })

/**
 * Returns the own properties of options that may name a shipper.
 *
 * @throws TypeError with `code` `LOGFERRY_INVALID_OPTION` if the options are no object, or are a shipper themselves
 */
export function namedOptions<Options extends object>(given: Options | undefined): Partial<Options> {
  if (given instanceof Shipper || isLikeShipper(given))
    throw invalidOption('shipper', 'given by its name: { shipper }', 'the shipper itself')
  return optionsOf(given)
}

/**
 * Returns the given shipper, or creates one from the options.
 *
 * @param ownNames options that the transport, processor or exporter has read itself, for the error about an unknown one
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if an option is missing or malformed
 * @throws Error if Node is older than 22.19
 * @internal
 */
export function shipperOf(
  given: ShipperOrOptions,
  ownNames: readonly string[] = [],
): { shipper: Shipper; isOwn: boolean } {
  const { shipper, ...options } = namedOptions(given)
  const known = [...ownNames, 'shipper', ...Object.keys(shipperOptions)]
  const unknown = Object.keys(options).find(name => !known.includes(name))
  if (unknown !== undefined) throw unknownOption(unknown, known)
  if (shipper === undefined) return { shipper: createShipper(options), isOwn: true }
  if (!(shipper instanceof Shipper)) {
    const got = isLikeShipper(shipper) ? ofOtherCopy : kindOf(shipper)
    throw invalidOption('shipper', 'a shipper that createShipper() returned', got)
  }
  const extra = Object.entries(options).find(([, value]) => value !== undefined)
  if (extra !== undefined)
    throw invalidOption(describedName(extra[0]), 'given to createShipper() instead, if `shipper` is given', 'both')
  return { shipper, isOwn: false }
}

const ofOtherCopy =
  'one of another copy of logferry, which is installed or bundled twice, or was loaded again after a reset of modules'

function isLikeShipper(given: unknown): boolean {
  if (typeof given !== 'object' || given === null) return false
  return ['ship', 'flush', 'close', 'stats'].every(name => typeof Reflect.get(given, name) === 'function')
}
