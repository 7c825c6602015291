/**
 * An organization as the service answers it. Fields that the service adds, and that are not listed here, are kept. A
 * field that it answers as `null` counts as absent.
 */
export interface Org {
  /** Identifier of the organization. */
  id: string
  /** Name of the organization; `update` changes it. */
  name: string
  /** When usage was last brought up to date. The service does not say in which format. */
  lastUsageSync: string
  /** What the organization may use, and until when. */
  license: License
  /** How its payments stand. */
  paymentStatus: PaymentStatus
  /** The plan it is on. */
  plan: Plan
  /** When the plan began. The service does not say in which format. */
  planCreated: string
  /** E-mail address of the organization. */
  primaryEmail: string
  /** Region that is used where none is named. The service does not list the regions. */
  defaultRegion?: string
  /** When a payment failed first. The service does not say in which format. */
  firstFailedPayment?: string
  /** When the record was made. The service does not say in which format. */
  metaCreated?: string
  /** When the record was last changed. The service does not say in which format. */
  metaModified?: string
  /** Version of the record. The service does not say in which format. */
  metaVersion?: string
  /** A role in the organization, by its name that of who asks. The service does not list the roles. */
  role?: string
}

/**
 * What an organization may use. The service does not say which of these fields it always answers, nor what happens when
 * a limit is exceeded. Times are ISO 8601 texts, as it gives them; they are not checked.
 */
export interface License {
  /** Identifier of the license. */
  id?: string
  /** Who issued it. */
  issuer?: string
  /** Whom it was issued to. */
  issuedTo?: string
  /** When it was issued. */
  issuedAt?: string
  /** Since when it is valid. */
  validFrom?: string
  /** Until when it is valid. */
  expiresAt?: string
  /** Begin of the period that monthly limits are counted in. */
  billingPeriodStart?: string
  /** End of the period that monthly limits are counted in. */
  billingPeriodEnd?: string
  /** Region that is used where none is named. The service does not list the regions. */
  defaultRegion?: string
  /** Regions that may be used. The service does not list them. */
  regions?: string[]
  /** Tier of the license. `personal` is the only value that the service names. */
  tier?: 'personal' | (string & {})
  /** Features by name. The service does not say what the values are. */
  features?: Record<string, unknown>
  /** Ways to authenticate, by the name of the field. Not specified further by the service. */
  withAuths?: string[]
  /** API requests per second. */
  apiRateLimitPerSecond?: number
  /** Longest time that an audit may look back over, in seconds. */
  maxAuditWindowSeconds?: number
  /** Longest time that a query may look back over, in seconds. */
  maxQueryWindowSeconds?: number
  /** Most datasets. */
  maxDatasets?: number
  /** Most endpoints. Not specified further by the service. */
  maxEndpoints?: number
  /** Most fields. The service does not say of what; the public one that resembles it counts them for each dataset. */
  maxFields?: number
  /** Most monitors. */
  maxMonitors?: number
  /** Most users. */
  maxUsers?: number
  /** Data that may be ingested in a month, in GB. */
  monthlyIngestGb?: number
  /** Queries that may be run in a month, in GB-hours. */
  monthlyQueryGbHours?: number
  /** Data that may be stored, in GB. */
  storageAllowanceGB?: number
}

/** How payments stand. A value that the service adds is kept as it is. */
export type PaymentStatus = 'na' | 'failed' | 'success' | 'blocked' | (string & {})

/** A plan; the one that ends in `Cloud` carries the service's brand. A value that the service adds is kept as it is. */
export type Plan =
  | 'personal'
  | 'basicDirect'
  | 'teamMonthlyDirect'
  | 'teamMonthlyAws'
  | `${string}Cloud`
  | 'teamPlus'
  | 'enterprise'
  | 'comped'
  | (string & {})

/** What `update` changes. */
export interface OrgUpdate {
  name: string
  /** The service does not say what this changes, nor which values it takes. @defaultValue left out of the request */
  region?: string | undefined
}
