import { createShipper, type Shipper, type ShipperOptions } from '../../../dist/index.js'
import { NotAvailable, type Source, type Target } from './set-up.ts'

/** The options that differ from the defaults, for one set-up; those that are no options yet are refused. */
export type Options = (target: Target) => Record<string, unknown>

export function openShipper(target: Target, options: Options): Shipper {
  try {
    return createShipper({
      baseUrl: target.url,
      dataset: 'benchmark',
      token: 'benchmark',
      flushTimeoutMs: 600_000, // a run may log for minutes; what is not delivered by then counts as lost
      ...options(target),
    } as ShipperOptions)
  } catch (error) {
    const { code, option } = error as { code?: string; option?: string }
    if (code !== 'LOGFERRY_INVALID_OPTION') throw error
    throw new NotAvailable(`this version does not have the option \`${option}\``)
  }
}

export function ending(shipper: Shipper): Required<Pick<Source, 'flush' | 'end'>> {
  return { flush: () => shipper.flush(), end: () => shipper.close() }
}
