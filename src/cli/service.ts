import type { ShipperOptions } from '../index.ts'
import type { Given } from './command.ts'

/** Options of every command that talks to the service. The environment provides the other options. */
export const serviceOptions = {
  url: { value: 'address', description: 'base address of the service, in place of LOGFERRY_URL' },
  'allow-insecure': { description: 'allow plain http to another host: the token can be read on the way' },
} as const

/** The option of commands that send events of their own. */
export const datasetOption = {
  dataset: { value: 'name', description: 'dataset to send to, in place of LOGFERRY_DATASET' },
} as const

/** Converts the options of the command line to options of a shipper. */
export function serviceOf(given: Given): Pick<ShipperOptions, 'baseUrl' | 'allowInsecure'> {
  return { baseUrl: given.url as string | undefined, allowInsecure: given['allow-insecure'] === true }
}
