import type { ShipperOptions } from '../index.ts'
import type { Given } from './command.ts'

/** What every command that talks to the service takes; the rest comes from the environment. */
export const serviceOptions = { url: { type: 'string' }, 'allow-insecure': { type: 'boolean' } } as const

/** The same as options of a shipper. */
export function serviceOf(given: Given): Pick<ShipperOptions, 'baseUrl' | 'allowInsecure'> {
  return { baseUrl: given.url as string | undefined, allowInsecure: given['allow-insecure'] === true }
}
