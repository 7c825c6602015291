import assert from 'node:assert/strict'

/** Returns the events of a dataset by their time, which is unique. */
export function arrived(emulator, dataset) {
  const events = emulator.events(dataset).sort((a, b) => (a._time < b._time ? -1 : 1))
  assert.equal(new Set(events.map(event => event._time)).size, events.length)
  return events
}
