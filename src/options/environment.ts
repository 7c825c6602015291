import type { Region } from './base-url.ts'
import type { ShipperOptions } from './shipper-options.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Options about where the service is and who asks; any kind of token will do. */
interface ServiceOptions
  extends Pick<ShipperOptions, 'baseUrl' | 'region' | 'token' | 'personalAccessToken' | 'orgId'> {
  readonly accessToken?: unknown
}

/** A variable of the environment; `undefined` if it is empty. */
export function fromEnvironment(environment: Environment, name: string): string | undefined {
  return (Object.hasOwn(environment, name) && environment[name]) || undefined
}

/** The options, with those about the service filled in from the environment where they are not given. */
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
