import { defaultOrg, type Org, type OrgOverrides, withOverrides } from './organization.ts'

const defaultId = 'emulated-org'

/** The organizations that exist, the default organization first. */
export class Organizations {
  readonly defaultId: string
  #orgs = new Map<string, Org>()

  constructor(orgs: readonly OrgOverrides[], nowMs: number) {
    for (const overrides of orgs) {
      const org = defaultOrg(overrides.id ?? defaultId, nowMs)
      if (this.#orgs.has(org.id))
        throw new RangeError(`startEmulator: org and orgs must have different ids, not '${org.id}' twice`)
      this.#orgs.set(org.id, withOverrides(org, structuredClone(overrides)))
    }
    this.defaultId = orgs[0]?.id ?? defaultId
  }

  get(id: string): Org | undefined {
    return this.#orgs.get(id)
  }

  /** Replaces fields of an organization and updates `metaModified` and `metaVersion`. */
  change(org: Org, overrides: OrgOverrides, nowMs: number): Org {
    // The specification does not define the format of the version. The default version is a number. A version that a
    // test set to another text starts over at 1.
    const metaVersion = String((Number.parseInt(org.metaVersion ?? '', 10) || 0) + 1)
    const changed = withOverrides({ ...org, metaModified: new Date(nowMs).toISOString(), metaVersion }, overrides)
    this.#orgs.set(org.id, changed)
    return changed
  }
}
