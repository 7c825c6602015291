/** The client for organizations: reads them with their licenses, and updates them. */

export type { InvalidOption } from './errors.ts'
export type { BaseUrl, Region } from './options/base-url.ts'
export type { ObtainAccessToken } from './options/obtain-access-token.ts'
export { createOrgClient, type OrgClient } from './org/client.ts'
export type { OrgClientOptions } from './org/client-options.ts'
export { OrgError, type OrgErrorCode } from './org/org-error.ts'
export type { License, Org, OrgUpdate, PaymentStatus, Plan } from './org/organization.ts'
