/** The result of a scenario at some scale. */
export interface Figures {
  readonly events: number
  readonly lost: number
  readonly twice: number
  readonly requests: number
  /** Maximum growth of resident memory since the start, in bytes, if it was measured. */
  readonly rssGrowthBytes?: number
  /** Other figures, in words. */
  readonly notes: string
  /** The laws that did not hold. */
  readonly broken: readonly string[]
}

/** Called with a line now and then, to show progress. */
export type Progress = (line: string) => void

export const noProgress: Progress = () => {}

/** Returns the names of the laws that do not hold. */
export function brokenOf(laws: Readonly<Record<string, boolean>>): string[] {
  return Object.keys(laws).filter(name => !laws[name])
}
