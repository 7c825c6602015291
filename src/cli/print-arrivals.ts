import type { Emulator } from '../emulator.ts'
import { clearInterval, setInterval } from '../time.ts'

const intervalMs = 100

/** Prints each event that arrives. Returns a function that prints the last events and then stops. */
export function printArrivals(emulator: Emulator, print: (dataset: string, line: string) => void): () => void {
  let seen: ReadonlyMap<string, number> = new Map()

  function look(): void {
    const counts = new Map(emulator.datasets().map(dataset => [dataset, emulator.eventCount(dataset)]))
    const seenBefore = seen
    seen = counts
    for (const [dataset, count] of counts) {
      const before = seenBefore.get(dataset) ?? 0
      const fresh = count < before ? count : count - before // a dataset that was forgotten starts at 0 again
      if (fresh === 0) continue
      for (const line of emulator.lines(dataset).slice(-fresh)) print(dataset, line)
    }
  }

  const timer = setInterval(look, intervalMs)
  return () => {
    clearInterval(timer)
    look()
  }
}
