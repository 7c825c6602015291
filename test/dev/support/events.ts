import fc from 'fast-check'
import { EventIndex } from '../../../src/dev/event-index.ts'
import type { ArrivedEvent } from '../../../src/dev/index/index-api.ts'
import { anyCharacter } from '../../support/any-character.ts'

export const nowMs = Date.parse('2026-11-22T10:42:00Z')

export function newIndex(options: { maxEvents?: number; maxBytes?: number; nowMs?: () => number } = {}): EventIndex {
  return new EventIndex({
    maxEvents: 100_000,
    maxBytes: 128 * 1024 * 1024,
    epoch: 'test',
    nowMs: () => nowMs,
    ...options,
  })
}

/** Returns an event as it arrives: its line, and the object that the line parses to. */
export function arrived(event: object | string, others: Partial<ArrivedEvent> = {}): ArrivedEvent {
  const line = typeof event === 'string' ? event : JSON.stringify(event)
  return {
    dataset: 'app',
    source: null,
    line,
    event: JSON.parse(line),
    receivedAt: nowMs,
    request: null,
    duplicate: false,
    ...others,
  }
}

export function addAll(index: EventIndex, events: readonly object[]): void {
  for (const event of events) index.add(arrived(event))
}

/** Returns the lines that match a query, in the order of the list. */
export async function linesOf(index: EventIndex, q: string, others: { until?: number } = {}): Promise<string[]> {
  const lines: string[] = []
  for await (const line of index.exportLines({ q, ...others })) lines.push(line)
  return lines
}

/** Returns true if the only event of a new index matches. */
export async function matches(q: string, event: object | string, others: Partial<ArrivedEvent> = {}): Promise<boolean> {
  const index = newIndex()
  index.add(arrived(event, others))
  return (await linesOf(index, q)).length === 1
}

const names = ['a', 'b', 'a.b', 'c', 'status', '__proto__', 'x y', 'é', '']
const texts = [
  '',
  'a',
  'A',
  'blue',
  'BLUE sky',
  '42',
  '4.20',
  'null',
  'true',
  'ß',
  'É',
  'K',
  'line\nbreak',
  'a"b',
  "it's",
  '\\',
  '*',
  '😀',
  '\ud800',
  'AND',
  'level:error',
]

/** Names of fields and texts of which random events are made. They are few, so that queries match. */
export const fieldName = fc.constantFrom(...names)
export const text = fc.oneof(fc.constantFrom(...texts), fc.string({ unit: anyCharacter, maxLength: 5 }))
export const scalar = fc.oneof(
  text,
  fc.constantFrom<unknown>(0, 1, 42, 4.2, -1, 1e21, 504, true, false, null),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)
export const value = fc.letrec<{ value: unknown; members: object }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    tie('members'),
  ),
  members: fc
    .array(fc.tuple(fieldName, tie('value')), { maxLength: 4 })
    .map(members =>
      JSON.parse(`{${members.map(([name, member]) => `${JSON.stringify(name)}:${JSON.stringify(member)}`).join()}}`),
    ),
})).value
export const event = fc
  .array(fc.tuple(fieldName, value), { maxLength: 6 })
  .map(members => `{${members.map(([name, member]) => `${JSON.stringify(name)}:${JSON.stringify(member)}`).join()}}`)
