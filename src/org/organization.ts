/**
 * An organization, as the service answers it. Fields that the service adds and that are not listed here are kept. A
 * field with the value `null` counts as absent.
 */
export interface Org {
  /** Identifier of the organization. */
  id: string
  /** Name of the organization. `update` changes it. */
  name: string
  /** Time of the last update of the usage. The service does not specify the format. */
  lastUsageSync: string
  /** Limits of the organization, and their validity. */
  license: License
  /** Status of the organization's payments. */
  paymentStatus: PaymentStatus
  /** Plan of the organization. */
  plan: Plan
  /** Time at which the plan began. The service does not specify the format. */
  planCreated: string
  /** E-mail address of the organization. */
  primaryEmail: string
  /** Region that applies if none is named. The service does not list the regions. */
  defaultRegion?: string
  /** Time of the first failed payment. The service does not specify the format. */
  firstFailedPayment?: string
  /** Time at which the record was created. The service does not specify the format. */
  metaCreated?: string
  /** Time of the last change to the record. The service does not specify the format. */
  metaModified?: string
  /** Version of the record. The service does not specify the format. */
  metaVersion?: string
  /** A role in the organization: by its name, the role of the caller. The service does not list the roles. */
  role?: string
}

/**
 * The limits of an organization. The service does not specify which of these fields it always answers, nor the effect
 * of exceeding a limit. Times are ISO 8601 texts as the service gives them; they are not checked.
 */
export interface License {
  /** Identifier of the license. */
  id?: string
  /** Issuer of the license. */
  issuer?: string
  /** Holder of the license. */
  issuedTo?: string
  /** Time of issue. */
  issuedAt?: string
  /** Time from which the license is valid. */
  validFrom?: string
  /** Time at which the license expires. */
  expiresAt?: string
  /** Start of the period in which monthly limits are counted. */
  billingPeriodStart?: string
  /** End of the period in which monthly limits are counted. */
  billingPeriodEnd?: string
  /** Region that applies if none is named. The service does not list the regions. */
  defaultRegion?: string
  /** Regions that the organization may use. The service does not list the regions. */
  regions?: string[]
  /** Tier of the license. `personal` is the only value that the service names. */
  tier?: 'personal' | (string & {})
  /** Features by name. The service does not specify the values. */
  features?: Record<string, unknown>
  /** Ways to authenticate, as the name of the field suggests. The service does not specify it further. */
  withAuths?: string[]
  /** Maximum number of API requests per second. */
  apiRateLimitPerSecond?: number
  /** Maximum time that an audit can look back, in seconds. */
  maxAuditWindowSeconds?: number
  /** Maximum time that a query can look back, in seconds. */
  maxQueryWindowSeconds?: number
  /** Maximum number of datasets. */
  maxDatasets?: number
  /** Maximum number of endpoints. The service does not specify it further. */
  maxEndpoints?: number
  /**
   * Maximum number of fields. The service does not say of what; the public service that resembles it counts fields per
   * dataset.
   */
  maxFields?: number
  /** Maximum number of monitors. */
  maxMonitors?: number
  /** Maximum number of users. */
  maxUsers?: number
  /** Data that may be ingested per month, in GB. */
  monthlyIngestGb?: number
  /** Queries that may be run per month, in GB-hours. */
  monthlyQueryGbHours?: number
  /** Data that may be stored, in GB. */
  storageAllowanceGB?: number
}

/** Status of payments. A value that the service adds is kept as it is. */
export type PaymentStatus = 'na' | 'failed' | 'success' | 'blocked' | (string & {})

/**
 * A plan. The plan that ends in `Cloud` carries the service's brand. A value that the service adds is kept as it is.
 */
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

/** The fields that `update` changes. */
export interface OrgUpdate {
  name: string
  /**
   * The service does not say what this field changes, nor which values it accepts.
   *
   * @defaultValue left out of the request
   */
  region?: string | undefined
}
