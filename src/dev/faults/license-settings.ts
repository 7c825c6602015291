import type { Emulator } from '../../emulator/emulator.ts'
import { type Limit, limits as limitNames } from '../../emulator/enforcement.ts'
import { checkOverrides, type Org, type OrgOverrides } from '../../emulator/organization.ts'
import type { FaultChange, LimitState } from '../protocol.ts'
import { FaultMistake } from './fault-mistake.ts'

type LimitChanges = Extract<FaultChange, { limits: unknown }>['limits']

const bytesPerGb = 1e9

/** Fields of the organization that are no fields of its license. */
const ofOrg = ['paymentStatus'] as const
type Field = Exclude<Limit, 'expiry'> | 'validFrom' | 'expiresAt' | (typeof ofOrg)[number]

/** Returns the fields that hold the values of a limit. */
function fieldsOf(limit: Limit): readonly Field[] {
  return limit === 'expiry' ? ['validFrom', 'expiresAt', ...ofOrg] : [limit]
}

/** The value of a limit is invalid. */
export class LimitMistake extends FaultMistake {
  /** The field of the license, or of the organization, that has the value. */
  readonly field: string

  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

/** The limits of the license, and which of them are enforced. */
export class LicenseSettings {
  readonly #emulator: Pick<Emulator, 'org' | 'changeOrg' | 'enforce'>
  #enforced: ReadonlySet<Limit> = new Set()
  /** The organization with which the service started, and the limits that were enforced then. */
  #atStart: { readonly org: Org; readonly enforced: ReadonlySet<Limit> }

  constructor(emulator: Pick<Emulator, 'org' | 'changeOrg' | 'enforce'>) {
    this.#emulator = emulator
    this.#atStart = { org: emulator.org(), enforced: this.#enforced }
  }

  get maxFields(): number {
    return this.#emulator.org().license.maxFields
  }

  get monthlyBytes(): number {
    return this.#emulator.org().license.monthlyIngestGb * bytesPerGb
  }

  list(): LimitState[] {
    const org = this.#emulator.org()
    const { org: orgAtStart, enforced } = this.#atStart
    return limitNames.map(name => ({
      name,
      enforced: this.#enforced.has(name),
      enforcedAtStart: enforced.has(name),
      fields: fieldsOf(name).map(field => ({
        name: field,
        value: fieldValue(org, field),
        atStart: fieldValue(orgAtStart, field),
      })),
    }))
  }

  /** @throws FaultMistake if a limit is unknown or its value is invalid; then nothing is changed */
  change(changes: LimitChanges): void {
    const enforced = new Set(this.#enforced)
    const values = new Map<Field, number | string>()
    for (const { name, enforced: isEnforced, fields = [] } of changes) {
      const limit = limitNames.find(each => each === name)
      if (limit === undefined) throw new FaultMistake(`there is no such limit; use one of ${limitNames.join(', ')}`)
      if (isEnforced) enforced.add(limit)
      else enforced.delete(limit)
      for (const { name: given, value } of fields) {
        const field = fieldsOf(limit).find(each => each === given)
        if (field === undefined) throw new FaultMistake(`${limit} has only ${fieldsOf(limit).join(', ')}`)
        checkField(field, value)
        values.set(field, value)
      }
    }
    this.#changeOrg(overridesOf(values))
    this.#enforce(enforced)
  }

  /**
   * Takes the limits of `--limits`: an object with fields of the license and `paymentStatus`, or a whole organization as the
   * service answers it. The limits that it has are enforced. Called when the service starts: the page can go back to these limits.
   *
   * @throws FaultMistake
   */
  load(value: unknown): void {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new FaultMistake('the file must have an object with fields of the license, such as {"maxFields": 256}')
    }
    const { paymentStatus, ...fields } = value as { readonly paymentStatus?: unknown }
    const license = ('license' in fields ? fields.license : fields) as NonNullable<OrgOverrides['license']>
    const payment = paymentStatus === undefined ? {} : { paymentStatus }
    this.#changeOrg({ license, ...payment } as OrgOverrides)
    const has = (field: string): boolean => Object.hasOwn(license, field)
    const enforced = limitNames.filter(limit => has(limit))
    const hasExpiry = has('expiresAt') || has('validFrom') || 'paymentStatus' in payment
    this.#enforce(new Set(hasExpiry ? [...enforced, 'expiry'] : enforced))
    this.#atStart = { org: this.#emulator.org(), enforced: this.#enforced }
  }

  #changeOrg(overrides: OrgOverrides): void {
    try {
      this.#emulator.changeOrg(overrides)
    } catch (error) {
      throw new FaultMistake((error as Error).message.replace(/^overrides\.|^changeOrg: overrides\.?/, ''))
    }
  }

  #enforce(enforced: ReadonlySet<Limit>): void {
    this.#enforced = enforced
    this.#emulator.enforce(Object.fromEntries([...enforced].map(limit => [limit, true])))
  }
}

function isOfOrg(field: Field): field is (typeof ofOrg)[number] {
  return ofOrg.some(name => name === field)
}

function fieldValue(org: Org, field: Field): number | string {
  return isOfOrg(field) ? org[field] : org.license[field]
}

function overridesOf(values: Iterable<readonly [Field, number | string]>): OrgOverrides {
  const license = new Map<string, number | string>()
  const org = new Map<string, unknown>()
  for (const [field, value] of values) (isOfOrg(field) ? org : license).set(field, value)
  return { ...Object.fromEntries(org), license: Object.fromEntries(license) }
}

/** @throws LimitMistake */
function checkField(field: Field, value: number | string): void {
  try {
    checkOverrides('', overridesOf([[field, value]]))
  } catch (error) {
    throw new LimitMistake(field, (error as Error).message.replace(/^(\.license)?\./, ''))
  }
}
