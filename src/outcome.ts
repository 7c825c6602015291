/** One event that the service refused while it took the others of its batch. */
export interface EventFailure {
  /** The event's time stamp as the service repeats it; the only trace back to the event. */
  readonly timestamp: string | undefined
  readonly reason: string
}

/** What became of one attempt to send one batch. */
export type Outcome =
  | { readonly kind: 'delivered' }
  /** Stored, except `failed` events. Sending the batch again would store the others twice. */
  | { readonly kind: 'partly-rejected'; readonly failed: number; readonly failures: readonly EventFailure[] }
  /** Nothing is known to be stored; the same bytes may be sent again, not before `retryAfterMs` where it is given. */
  | {
      readonly kind: 'retryable'
      readonly reason: string
      readonly status?: number | undefined
      readonly retryAfterMs?: number | undefined
      /** The connection broke while the body was under way, which is how some servers refuse a body they find too large. */
      readonly reset?: boolean | undefined
    }
  | { readonly kind: 'too-large' }
  /** The service does not take this content encoding. */
  | { readonly kind: 'unsupported-encoding' }
  /** Something in the body displeases the service; a smaller part of it may not. */
  | { readonly kind: 'rejected'; readonly status: number; readonly reason: string }
  /** No batch will pass until the token, the dataset, the address or the account is put right. */
  | { readonly kind: 'blocked'; readonly status: number; readonly reason: string }
