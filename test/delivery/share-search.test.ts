import { describe, expect, it } from 'vitest'
import { ShareSearch } from '../../src/delivery/share-search.ts'

/** Notes so many successes a second after the last step. */
function accept(search: ShareSearch, count: number, nowMs: number): void {
  for (let n = 0; n < count; n++) search.onAccepted()
  search.grow(nowMs)
}

describe('the search for a share', () => {
  it('raises the rate by half once a second while nothing is refused, and doubles it from three requests per second', () => {
    const search = new ShareSearch(0, 1)
    const rates = Array.from({ length: 6 }, (_, second) => {
      accept(search, 4, (second + 1) * 1000)
      return search.perSecond
    })
    expect(rates.map(rate => Math.round(rate * 100) / 100)).toEqual([1.5, 2.25, 3.38, 6.75, 13.5, 27])
  })

  it('waits for four successes, and for a window of the service', () => {
    const search = new ShareSearch(0, 1)
    accept(search, 3, 5000)
    expect(search.perSecond).toBe(1)
    const fast = new ShareSearch(0, 1)
    accept(fast, 50, 999)
    expect(fast.perSecond).toBe(1)
  })

  it('goes back by half of the growth when a request is refused after a little, which one of many may owe to chance', () => {
    const search = new ShareSearch(0, 1)
    for (let second = 1; second <= 4; second++) accept(search, 4, second * 1000)
    expect(search.perSecond).toBe(6.75)
    search.onRefused(60_000, 1)
    expect(search.perSecond).toBe(Math.sqrt(3.375))
    search.onRefused(60_000, 2)
    expect(search.perSecond).toBe(Math.sqrt(3.375))
  })

  it('goes back by one step when a request is refused after much growth, because all was accepted there', () => {
    const search = new ShareSearch(0, 1)
    for (let second = 1; second <= 6; second++) accept(search, 4, second * 1000)
    expect(search.perSecond).toBe(27)
    search.onRefused(60_000, 1)
    expect(search.perSecond).toBe(13.5)
  })

  it('finds the part that is accepted, after twelve answers with 429s among them', () => {
    const search = new ShareSearch(0, 10)
    for (let n = 0; n < 5; n++) {
      expect(search.onAccepted()).toBeUndefined()
      expect(search.onRefused(60_000, 1)).toBeUndefined()
    }
    expect(search.onRefused(60_000, 2)).toBeUndefined()
    expect(search.onAccepted()).toBeCloseTo((10 * 6.5) / 12.5)
    expect([search.wasOutage, search.grow(60_000)]).toEqual([false, false])
  })

  it.each([
    [1, 20],
    [2, 10],
    [3, 7],
    [8, 3],
  ])('%d 429s in a row and then %d successes in a row were an outage', (refused, accepted) => {
    const search = new ShareSearch(0, 1)
    for (let n = 0; n < refused; n++) expect(search.onRefused(60_000, n + 1)).toBeUndefined()
    for (let n = 1; n < accepted; n++) {
      expect(search.onAccepted()).toBeUndefined()
      expect(search.wasOutage).toBe(false)
    }
    expect(search.onAccepted()).toBeUndefined()
    expect(search.wasOutage).toBe(true)
    search.onRefused(60_000, 1)
    expect(search.wasOutage).toBe(false)
  })

  it('learns nothing from further 429s of the first second, which earlier requests have caused', () => {
    const search = new ShareSearch(0, 1)
    for (const ms of [10, 500, 999]) search.onRefused(ms, 1)
    for (let second = 2; second <= 7; second++) accept(search, 4, second * 1000)
    expect(search.perSecond).toBe(27)
    const late = new ShareSearch(0, 1)
    late.onRefused(1000, 1)
    accept(late, 4, 2000)
    expect(late.perSecond).toBe(1)
  })

  it('finds nothing while all is refused, and lowers a rate below one request per second, but not without end', () => {
    const search = new ShareSearch(0, 0.69)
    for (let n = 1; n <= 20; n++) expect(search.onRefused(60_000, n)).toBeUndefined()
    expect(search.perSecond).toBeCloseTo(0.69 * 0.7 ** 4)
    const usual = new ShareSearch(0, 1)
    for (let n = 1; n <= 20; n++) usual.onRefused(60_000, n)
    expect(usual.perSecond).toBe(1)
  })
})
