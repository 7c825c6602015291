/** Statuses for requests that come too fast. The same request may succeed at a lower rate. */
const throttled = [
  429, // too many requests
  430, // the same, from the public service that resembles this one
] as const

/** Statuses below 500 for trouble that passes. The same request may succeed later. */
const passing: readonly number[] = [
  408, // the request took too long to arrive, for example over a slow connection
  425, // the server refuses early data of a TLS connection, because another party could replay it
]

/** True if the service refused a request only for the rate of the requests. */
export function isThrottled(status: number | undefined): status is (typeof throttled)[number] {
  return (throttled as readonly unknown[]).includes(status)
}

/** True if the service, or a proxy before it, has trouble that may pass. Every status from 500 counts. */
export function isInTrouble(status: number): boolean {
  return status >= 500 || passing.includes(status)
}

/** True if the same request may succeed later. */
export function isRetryable(status: number): boolean {
  return isThrottled(status) || isInTrouble(status)
}
