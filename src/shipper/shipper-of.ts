import { invalidOption } from '../errors.ts'
import { describedName, kindOf } from '../options/described.ts'
import { optionsOf } from '../options/options-of.ts'
import type { ShipperOptions } from '../options/shipper-options.ts'
import { createShipper, Shipper } from './shipper.ts'

/** For adapters: a shipper that exists already, or the options for one of the adapter's own. */
export type ShipperOrOptions = { readonly shipper: Shipper } | (ShipperOptions & { readonly shipper?: undefined })

/** @internal */
export function shipperOf(given: ShipperOrOptions): { shipper: Shipper; isOwn: boolean } {
  const { shipper, ...options } = optionsOf(given)
  if (shipper === undefined) return { shipper: createShipper(options), isOwn: true }
  if (!(shipper instanceof Shipper)) throw invalidOption('shipper', 'what createShipper() returns', kindOf(shipper))
  const extra = Object.entries(options).find(([, value]) => value !== undefined)
  if (extra !== undefined)
    throw invalidOption(describedName(extra[0]), 'given to createShipper() when `shipper` is given', 'both')
  return { shipper, isOwn: false }
}
