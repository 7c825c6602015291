import type { Emulator } from '../../emulator/emulator.ts'
import { type Limit, limits as limitNames } from '../../emulator/enforcement.ts'
import type { OrgOverrides } from '../../emulator/organization.ts'
import type { FaultChange, FaultsAnswer } from '../protocol.ts'
import { FaultMistake } from './fault-text.ts'

type Limits = FaultsAnswer['limits']
type LimitChanges = Extract<FaultChange, { limits: unknown }>['limits']

const bytesPerGb = 1e9

/** The limits of the license, and which of them are enforced. */
export class LicenseSettings {
  readonly #emulator: Pick<Emulator, 'org' | 'changeOrg' | 'enforce'>
  #enforced = new Set<Limit>()

  constructor(emulator: Pick<Emulator, 'org' | 'changeOrg' | 'enforce'>) {
    this.#emulator = emulator
  }

  get maxFields(): number {
    return this.#emulator.org().license.maxFields
  }

  get monthlyBytes(): number {
    return this.#emulator.org().license.monthlyIngestGb * bytesPerGb
  }

  list(): Limits {
    const { license } = this.#emulator.org()
    return limitNames.map(name => ({
      name,
      enforced: this.#enforced.has(name),
      value: name === 'expiry' ? null : license[name],
    }))
  }

  /** @throws FaultMistake if a limit is unknown or its value is invalid; then nothing is changed */
  change(changes: LimitChanges): void {
    const enforced = new Set(this.#enforced)
    const license: Partial<Record<Exclude<Limit, 'expiry'>, number>> = {}
    for (const { name, enforced: isEnforced, value } of changes) {
      const limit = limitNames.find(each => each === name)
      if (limit === undefined) throw new FaultMistake(`there is no such limit; use one of ${limitNames.join(', ')}`)
      if (isEnforced) enforced.add(limit)
      else enforced.delete(limit)
      if (value !== undefined && limit !== 'expiry') license[limit] = value
    }
    this.#changeOrg({ license })
    this.#enforce(enforced)
  }

  /**
   * Takes the limits of `--limits`: an object with fields of the license, or a whole organization as the service answers
   * it. The limits that it has are enforced.
   *
   * @throws FaultMistake
   */
  load(value: unknown): void {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new FaultMistake('the file must have an object with fields of the license, such as {"maxFields": 256}')
    }
    const isOrg = 'license' in value
    const license = (isOrg ? value.license : value) as NonNullable<OrgOverrides['license']>
    const payment = isOrg && 'paymentStatus' in value ? { paymentStatus: value.paymentStatus } : {}
    this.#changeOrg({ license, ...payment } as OrgOverrides)
    const has = (field: string): boolean => Object.hasOwn(license, field)
    const enforced = limitNames.filter(limit => has(limit))
    const hasExpiry = has('expiresAt') || has('validFrom') || 'paymentStatus' in payment
    this.#enforce(new Set(hasExpiry ? [...enforced, 'expiry'] : enforced))
  }

  #changeOrg(overrides: OrgOverrides): void {
    try {
      this.#emulator.changeOrg(overrides)
    } catch (error) {
      throw new FaultMistake((error as Error).message.replace(/^overrides\.|^changeOrg: overrides\.?/, ''))
    }
  }

  #enforce(enforced: Set<Limit>): void {
    this.#enforced = enforced
    this.#emulator.enforce(Object.fromEntries([...enforced].map(limit => [limit, true])))
  }
}
