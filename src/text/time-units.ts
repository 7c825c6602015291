/** The milliseconds in each unit of time, by the name of the unit in texts that people type. */
export const unitMs: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
  ['w', 604_800_000],
])
