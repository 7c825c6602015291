import type { Emulator } from '../emulator.ts'
import { escapeJson } from '../text/escape-json.ts'
import { toShortLine } from '../text/short-line.ts'

const intervalMs = 100

/** Prints each event that arrives from now on, one a line; returns what stops it, after a last look. */
export function tail(emulator: Emulator, print: (line: string) => void): () => void {
  const seen = new Map<string, number>()

  function look(): void {
    for (const dataset of emulator.datasets()) {
      const count = emulator.eventCount(dataset)
      const fresh = count - (seen.get(dataset) ?? 0)
      seen.set(dataset, count)
      if (fresh === 0) continue
      for (const line of emulator.lines(dataset).slice(-fresh))
        print(`${toShortLine(dataset)} ${escapeJson(line).replaceAll('\n', ' ')}`)
    }
  }

  const timer = setInterval(look, intervalMs)
  return () => {
    clearInterval(timer)
    look()
  }
}
