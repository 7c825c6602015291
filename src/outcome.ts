/** One event that the service refused while it accepted other events of the batch. */
export interface EventFailure {
  /** The event's timestamp, as the service repeats it. Nothing else in the answer identifies the event. */
  readonly timestamp: string | undefined
  readonly reason: string
}

/** Why events that count as stored may not be: the body of a 2xx answer is a page, or its counts are too small. */
export type Doubt = { readonly page: string } | { readonly ingested: number }

interface Accepted {
  readonly doubt?: Doubt | undefined
}

/** The result of one attempt to send one batch. */
export type Outcome =
  | ({ readonly kind: 'delivered' } & Accepted)
  /** The batch is stored, except `failed` events. Sending it again would store the other events twice. */
  | ({
      readonly kind: 'partly-rejected'
      readonly failed: number
      readonly failures: readonly EventFailure[]
    } & Accepted)
  /** As far as is known, nothing is stored. The same bytes may be sent again, after `retryAfterMs` if it is given. */
  | {
      readonly kind: 'retryable'
      readonly reason: string
      readonly status?: number | undefined
      readonly retryAfterMs?: number | undefined
      /**
       * Why a connection brought no answer: it broke, or stayed silent for too long. Some servers refuse a body that is too
       * large in this way.
       */
      readonly unanswered?: 'broken' | 'silent' | undefined
    }
  | { readonly kind: 'too-large' }
  /** The service does not accept this content encoding. */
  | { readonly kind: 'unsupported-encoding' }
  /** The service objects to something in the body. It may accept a part of the body. */
  | { readonly kind: 'rejected'; readonly status: number; readonly reason: string }
  /** The service accepts no batch until the token, the dataset, the address or the account is corrected. */
  | { readonly kind: 'blocked'; readonly status: number; readonly reason: string }
