/** What came of a scenario at some scale. */
export interface Figures {
  readonly events: number
  readonly lost: number
  readonly twice: number
  readonly requests: number
  /** Most resident memory above that at the start, in bytes, where it was looked at. */
  readonly rssGrowthBytes?: number
  /** Other figures, in words. */
  readonly notes: string
  /** Laws that did not hold. */
  readonly broken: readonly string[]
}

/** Called with a line now and then, to show that something is going on. */
export type Progress = (line: string) => void

export const noProgress: Progress = () => {}

/** The names of the laws that do not hold. */
export function brokenOf(laws: Readonly<Record<string, boolean>>): string[] {
  return Object.keys(laws).filter(name => !laws[name])
}
