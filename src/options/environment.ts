import type { Region } from './base-url.ts'
import type { ShipperOptions } from './shipper-options.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Options that locate and authenticate the service. `accessToken` is here because any kind of token counts. */
interface ServiceOptions
  extends Pick<ShipperOptions, 'baseUrl' | 'region' | 'token' | 'personalAccessToken' | 'orgId'> {
  readonly accessToken?: unknown
}

/** Returns a variable of the environment, or `undefined` if it is missing or empty. */
export function fromEnvironment(environment: Environment, name: string): string | undefined {
  return (Object.hasOwn(environment, name) && environment[name]) || undefined
}

/**
 * Fills in options for the service from the environment. `LOGFERRY_TOKEN` is used only if no token of any kind is
 * given.
 */
export function withEnvironment<Options extends ServiceOptions>(given: Options, environment: Environment): Options {
  const from = (name: string) => fromEnvironment(environment, name)
  const hasOtherToken = given.personalAccessToken !== undefined || given.accessToken !== undefined
  return {
    ...given,
    baseUrl: given.baseUrl ?? from('LOGFERRY_URL'),
    region: given.region ?? (from('LOGFERRY_REGION') as Region | undefined),
    token: given.token ?? (hasOtherToken ? undefined : from('LOGFERRY_TOKEN')),
    orgId: given.orgId ?? from('LOGFERRY_ORG_ID'),
  }
}
