import { expect, it } from 'vitest'
import { DropSummary } from '../../src/accounting/drop-summary.ts'

it.each([
  [1, 'logferry dropped 1 event before this one because memory was short'],
  [2, 'logferry dropped 2 events before this one because memory was short'],
])('a summary of %d dropped events says so', (info, message) => {
  const summary = new DropSummary()
  summary.note({ info })
  expect(summary.take(1)).toEqual({ level: 'warn', message, logferry: { dropped: { memory: { info } } } })
  expect(summary.take(2)).toBeUndefined()
})
