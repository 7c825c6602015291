import { describe, expect, it } from 'vitest'
import type { Batch } from '../../src/batch/batch.ts'
import { failedLines } from '../../src/delivery/failed-lines.ts'

const stamp = (n: number) => `2026-11-21T10:00:00.${String(n).padStart(9, '0')}Z`
const batchOf = (...events: object[]) => {
  const lines = events.map(event => JSON.stringify(event))
  return {
    count: 100,
    lines: () => lines,
    severities: new Uint8Array(lines.length).fill(2),
  } as unknown as Batch
}
const find = (batch: Batch, timestamps: (string | undefined)[], timeField = '_time') =>
  failedLines(
    batch,
    timestamps.length,
    timestamps.map(timestamp => ({ timestamp, reason: 'no' })),
    timeField,
  ).map(({ line, reason }) => [line?.index, reason])

describe('the line of a failure', () => {
  it('is found by the timestamp that logferry made, even if the service trimmed its zeros', () => {
    const batch = batchOf({ _time: stamp(1) }, { _time: stamp(120_000_000) }, { _time: stamp(0) })
    expect(find(batch, [stamp(120_000_000), '2026-11-21T10:00:00.12Z', '2026-11-21T10:00:00Z'])).toEqual([
      [1, 'no'],
      [undefined, 'no'], // one such event, and two failures
      [2, 'no'],
    ])
  })

  it('is found by the timestamp that the event brings along, wherever it stands', () => {
    const batch = batchOf(
      { n: stamp(2), _time: stamp(1) },
      { n: 0, nested: { _time: stamp(2) }, _time: '2026-11-21T11:00:00+01:00' },
      { message: '"_time":"x"', _time: stamp(2) },
      { _time: 1763719200123 },
      { _time: 'say "now"' },
      { _time: null, a: stamp(9) },
    )
    const asked = [stamp(2), '2026-11-21T11:00:00+01:00', stamp(1), '1763719200123', 'say "now"', stamp(9)]
    expect(find(batch, asked).map(([index]) => index)).toEqual([2, 1, 0, 3, 4, undefined])
  })

  it('is found by the name of the option timeField', () => {
    const batch = batchOf({ at: stamp(1), _time: stamp(2) }, { _time: stamp(1), at: stamp(2) })
    expect(find(batch, [stamp(1)], 'at')).toEqual([[0, 'no']])
    expect(find(batch, [stamp(1)], '_time')).toEqual([[1, 'no']])
  })

  it('is found by the timestamp at its start if another process named the field differently', () => {
    const batch = batchOf({ '@timestamp': stamp(1), n: 0 }, { at: '2026-11-21', n: 1 })
    expect(find(batch, [stamp(1), '2026-11-21']).map(([index]) => index)).toEqual([0, undefined])
  })

  it('is not guessed if several events have the timestamp, and the reason says so', () => {
    const batch = batchOf({ _time: 'T1', n: 0 }, { n: 1, _time: 'T1' }, { _time: 'T2' })
    const reason = 'no (2 events of the batch have the timestamp "T1")'
    expect(find(batch, ['T1', 'T2'])).toEqual([
      [undefined, reason],
      [2, 'no'],
    ])
  })

  it('is each of several with the same timestamp if as many failed', () => {
    const batch = batchOf({ _time: 'T1', n: 0 }, { n: 1, _time: 'T1' })
    expect(find(batch, ['T1', 'T1'])).toEqual([
      [0, 'no'],
      [1, 'no'],
    ])
  })

  it('is each line of the batch if all failed, whatever the failures name', () => {
    const batch = { ...batchOf({ _time: 'T1' }, { n: 1 }, { _time: 'T2' }), count: 3 } as Batch
    const failures = [
      { timestamp: 'T2', reason: 'b' },
      { timestamp: undefined, reason: 'a' },
    ]
    expect(failedLines(batch, 3, failures, '_time').map(({ line, reason }) => [line?.index, reason])).toEqual([
      [2, 'b'],
      [0, 'a'],
      [1, 'no reason given'],
    ])
  })

  it('is unknown without a timestamp, or with one that no event has', () => {
    const batch = batchOf({ _time: 'T1' }, { n: 1 })
    expect(find(batch, [undefined, 'T3', '']).map(([index]) => index)).toEqual([undefined, undefined, undefined])
  })
})
