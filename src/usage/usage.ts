/** The bytes and events of one log statement. */
export interface StatementUsage {
  readonly dataset: string
  /** The level as it was logged, or the name of the severity if the level is no short word. */
  readonly level: string
  /**
   * The constant part of the message, or of the field `msg`, with `*` in place of each value; at most 200 characters.
   * Without such a text, the field `event` or `name` in brackets, or the event name or scope of an OpenTelemetry record:
   * `[order.placed]`. Otherwise `[no message]`.
   */
  readonly text: string
  /** Number of events, rounded. */
  readonly events: number
  /** Bytes of the events' lines before compression, without line breaks, rounded. */
  readonly bytes: number
  /** Part of all bytes, from 0 to 1. */
  readonly share: number
}

/** A number of events, and the bytes of their lines before compression, without line breaks. */
export interface UsageCount {
  readonly events: number
  readonly bytes: number
}

/** The events that a shipper has taken since a moment, by log statement and by dataset. Only kept events count. */
export interface Usage extends UsageCount {
  /** Start of the counts, in milliseconds since 1970. */
  readonly sinceMs: number
  /** Time from the start of the counts until now, in milliseconds. */
  readonly periodMs: number
  /** The log statements with most bytes, the largest first. */
  readonly statements: readonly StatementUsage[]
  /** The events of all other log statements. */
  readonly otherStatements: UsageCount
  /**
   * The datasets with most bytes, at most 64: the largest first, but all names that are whole numbers before the others,
   * as in any object.
   */
  readonly datasets: Readonly<Record<string, UsageCount>>
  /** The events of all other datasets. */
  readonly otherDatasets: UsageCount
}
