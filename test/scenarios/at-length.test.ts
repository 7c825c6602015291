/** The long scenarios of which a small scale is quick, also on a busy machine. `npm run soak` runs all of them whole. */
import { describe, expect, it } from 'vitest'
import { type LongScenario, longScenarios } from '../soak/scenarios.ts'

const quick: readonly LongScenario['number'][] = [9, 10, 12, 19, 22, 'chaos']

/** Of the ten seeds of the chaos, one is enough here. */
const inShort = longScenarios.filter(
  ({ number }, index) => number !== 'chaos' || longScenarios[index - 1]?.number !== 'chaos',
)
const cases = inShort.flatMap(({ number, what, short }) =>
  short === undefined || !quick.includes(number) ? [] : [[`scenario ${number}: ${what}`, short] as const],
)

describe.concurrent('the scenarios of npm run soak, at small scale', { timeout: 60_000 }, () => {
  it.each(cases)('%s', async (_, short) => {
    const figures = await short()
    expect(figures.broken, figures.notes).toEqual([])
    expect(figures.lost).toBe(0)
    expect(figures.events).toBeGreaterThan(0)
  })
})
