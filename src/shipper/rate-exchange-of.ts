import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Diagnostics } from '../accounting/diagnostics.ts'
import { RateExchange, type SharedRates } from '../delivery/rate-exchange.ts'
import { RateTable } from '../delivery/rate-table.ts'
import { addRelease, removeRelease } from '../exit/exit-hooks.ts'
import type { Credentials } from '../http/credentials.ts'
import type { ResolvedOptions, ResolvedRates } from '../options/resolved-options.ts'
import { quoted } from '../text/short-line.ts'
import { diskReason, diskRemedy } from './disk-trouble.ts'
import type { Pipeline } from './pipeline.ts'

interface RateExchangeUse {
  readonly options: Pick<ResolvedOptions, 'rates' | 'credentials'>
  readonly pipeline: Pick<Pipeline, 'rateLimiter' | 'delivery'>
  readonly diagnostics: Diagnostics
}

/** Returns the exchange of rates on this machine; `undefined` if each process adapts alone. */
export function rateExchangeOf({ options, pipeline, diagnostics }: RateExchangeUse): RateExchange | undefined {
  const { rates, credentials } = options
  if (rates === undefined) return undefined
  const { rateLimiter, delivery } = pipeline
  return new RateExchange({
    rates: leavingAtExit(rateTableOf(rates, credentials)),
    rateLimiter,
    isWaiting: () => delivery.isWaiting,
    onAgreed: () => delivery.pump(),
    onTrouble: error => {
      if (rates.directory !== undefined) warn(diagnostics, rates.directory, error)
    },
    random: Math.random,
  })
}

/** Returns the table of the processes that share a limit: those of one organization, or with one token. */
export function rateTableOf(rates: ResolvedRates, credentials: Credentials): RateTable {
  return new RateTable(machineDirectoryOf(rates), () => machineKeyOf(rates, credentials))
}

/** Takes the rate of the process back at its end. Otherwise processes that start soon would make room for it. */
function leavingAtExit(table: RateTable): SharedRates {
  const leave = (): void => table.leave()
  return {
    exchange: own => {
      addRelease(leave)
      return table.exchange(own)
    },
    read: () => table.read(),
    leave: () => {
      removeRelease(leave)
      leave()
    },
  }
}

/** Returns the directory of the files by which processes agree. On Windows, the temporary directory is the user's own. */
export function machineDirectoryOf({ directory }: ResolvedRates): string {
  const user = process.geteuid === undefined ? '' : `-${process.geteuid()}`
  return directory ?? join(tmpdir(), `logferry${user}`, 'rates')
}

/** Returns a hash of what the processes that agree have in common. */
export function machineKeyOf({ destination, isOfOrganization }: ResolvedRates, credentials: Credentials): string {
  return isOfOrganization ? hashOf(destination) : credentials.digest(destination)
}

function hashOf(text: string): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(text).digest('hex')
}

function warn(diagnostics: Diagnostics, directory: string, error: unknown): void {
  const remedy = diskRemedy(error, 'Check the disk and the permissions of the directory.')
  diagnostics.warn(
    'LOGFERRY_LIMITS',
    `the processes of this machine cannot agree on their request rates in ${quoted(directory)} (${diskReason(error)}). Each ` +
      `process adapts alone. ${remedy}`,
    'rateDirectory',
  )
}
