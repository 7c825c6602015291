import type { Emulator } from '../emulator.ts'
import { counted } from '../text/counted.ts'
import { clearInterval, setInterval } from '../time.ts'
import { printError } from './print.ts'

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
      const lines = emulator.lines(dataset).slice(-fresh)
      const forgotten = fresh - lines.length
      if (forgotten > 0)
        printError(`logferry: ${counted(forgotten, 'event was', 'events were')} forgotten before being printed`)
      for (const line of lines) print(dataset, line)
    }
  }

  const timer = setInterval(() => {
    // What the reader of standard output leaves would collect in memory.
    if (!process.stdout.writableNeedDrain) look()
  }, intervalMs)
  return () => {
    clearInterval(timer)
    look()
  }
}
