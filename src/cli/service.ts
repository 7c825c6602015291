import type { ShipperOptions } from '../index.ts'
import type { Given } from './command.ts'

/** Options of every command that talks to the service. The environment provides the other options. */
export const serviceOptions = { url: { type: 'string' }, 'allow-insecure': { type: 'boolean' } } as const

/** Converts the options of the command line to options of a shipper. */
export function serviceOf(given: Given): Pick<ShipperOptions, 'baseUrl' | 'allowInsecure'> {
  return { baseUrl: given.url as string | undefined, allowInsecure: given['allow-insecure'] === true }
}
