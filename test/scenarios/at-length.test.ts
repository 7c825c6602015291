/** The long scenarios at a small scale. `npm run soak` runs them whole. */
import { describe, expect, it } from 'vitest'
import { longScenarios } from '../soak/scenarios.ts'

/** Of the ten seeds of the chaos, one is enough here. */
const inShort = longScenarios.filter(
  ({ number }, index) => number !== 'chaos' || longScenarios[index - 1]?.number !== 'chaos',
)
const cases = inShort.flatMap(({ number, what, short }) =>
  short === undefined ? [] : [[`scenario ${number}: ${what}`, short] as const],
)

describe.concurrent('the scenarios of npm run soak, at small scale', { timeout: 60_000 }, () => {
  it.each(cases)('%s', async (_, short) => {
    const figures = await short()
    expect(figures.broken, figures.notes).toEqual([])
    expect(figures.lost).toBe(0)
    expect(figures.events).toBeGreaterThan(0)
  })
})
