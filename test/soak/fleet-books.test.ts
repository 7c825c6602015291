/** The accounting of the fleet's soak, with records made by hand. */
import { expect, it } from 'vitest'
import { type Arrival, SeenNumbers } from './fleet-arrivals.ts'
import { Books, type Life } from './fleet-books.ts'

const span = { fromMs: 10_000, toMs: 20_000 }
const life: Life = {
  name: 'p0',
  isFull: true,
  startedAtMs: 0,
  endedAtMs: 30_000,
  logged: 10,
  dropped: 0,
  distinct: 10,
  twice: 0,
}
const other: Life = { ...life, name: 'p1' }

function taken(atMs: number, more: Partial<Arrival> = {}): Arrival {
  return { atMs, process: 'p0', kind: 'ingest', isAccepted: true, oldestAgeMs: 60_000, ...more }
}

function refused(atMs: number, more: Partial<Arrival> = {}): Arrival {
  return taken(atMs, { isAccepted: false, oldestAgeMs: undefined, ...more })
}

it('counts reads of the organization with the other requests', () => {
  const arrivals = [taken(10_000), taken(10_001, { kind: 'read' }), refused(11_000), refused(20_000), taken(9999)]
  const books = new Books(arrivals, [life])
  expect(books.figures(span)).toMatchObject({ taken: 2, refused: 1, refusedPart: 1 / 3, takenPerSecond: 0.2 })
  expect(books.perSecond(span).slice(0, 2)).toEqual([
    { taken: 2, refused: 0, reads: 1 },
    { taken: 0, refused: 1, reads: 0 },
  ])
})

it.each([
  ['from one accepted request to the next', [taken(10_000), taken(17_000), taken(20_000)], 7000],
  ['refused ones apart', [taken(10_000), refused(15_000), taken(17_000), taken(20_000)], 7000],
  ['not before the span', [taken(1000), taken(14_000), taken(19_000)], 5000],
  ['to the end of the span', [taken(12_000)], 8000],
  ['throughout, if nothing is accepted', [], 10_000],
  ['not while there is nothing to send', [taken(10_000), taken(17_000, { oldestAgeMs: 500 }), taken(20_000)], 3000],
])('measures the longest wait %s', (_, arrivals, longestWaitMs) => {
  expect(new Books(arrivals, [life]).figures(span).longestWaitMs).toBe(longestWaitMs)
})

it('does not count time after the end of a process, or without events, as waiting', () => {
  expect(new Books([taken(12_000)], [{ ...life, endedAtMs: 15_000 }]).figures(span).longestWaitMs).toBe(3000)
  expect(new Books([taken(12_000)], [{ ...life, isFull: false }]).figures(span).longestWaitMs).toBe(2000)
})

it('compares processes that lived throughout', () => {
  const latecomer = { ...life, name: 'p2', startedAtMs: 10_001 }
  const arrivals = [taken(11_000), taken(12_000), taken(13_000, { process: 'p1' })]
  expect(new Books(arrivals, [life, other, latecomer]).figures(span)).toMatchObject({ best: 2, worst: 1 })
})

it('measures the time to the first request, or to the end of a process without requests', () => {
  const started = { ...life, startedAtMs: 10_000 }
  const unserved = { ...other, startedAtMs: 10_000, endedAtMs: 15_000 }
  expect(new Books([refused(10_500), taken(11_000)], [started, unserved]).firstRequests(span)).toMatchObject({
    p50: 5000,
    max: 5000,
  })
  expect(new Books([refused(10_500), taken(11_000)], [started]).firstRequests(span).max).toBe(1000)
  expect(new Books([taken(11_000, { oldestAgeMs: 300 })], [started]).firstRequests(span).max).toBe(300)
})

it('counts events as lost that were neither dropped nor arrived, of processes that ended well', () => {
  const killed = { ...other, logged: undefined, distinct: 3, twice: 1 }
  const { loss } = new Books([], [{ ...life, dropped: 2, distinct: 7 }, killed])
  expect(loss).toEqual({ logged: 10, lost: 1, twice: 1, dropped: 2 })
})

it('counts numbers that arrive more than once', () => {
  const seen = new SeenNumbers()
  for (const n of [0, 5000, 1, 5000, 5000, 0]) seen.add(n)
  expect(seen).toMatchObject({ distinct: 3, twice: 3 })
})
