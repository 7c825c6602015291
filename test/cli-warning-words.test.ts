import { expect, it } from 'vitest'
import { inCommandWords } from '../src/cli/warning-words.ts'
import * as warnings from '../src/delivery/warnings.ts'

const slow = { reason: 'no answer', unanswered: 'silent' } as const
const pipe = { timeout: {}, 'buffer-bytes': {}, 'spool-max-bytes': {} }

it.each([
  ['unreachable', warnings.unreachable(slow)],
  ['asked too often', warnings.askedTooOften('too many', 429, 1000, false)],
  ['not answered', warnings.batchUnanswered(1_000_000, 1000, 'no answer')],
  ['refused', warnings.rejected('orders', 2, 'no such field')],
  ['an event too large', warnings.eventTooLarge(1_000_000)],
  ['a batch too large', warnings.batchTooLarge(1_000_000, 500_000, 413)],
  ['a compression refused', warnings.encodingRefused('zstd', 'gzip')],
  ['paused', warnings.paused('orders', 415, 'unsupported')],
  ['held back', warnings.pacedFor(3, { requestsPerSecond: 1, because: 'license' })],
])('a command names no option that only an application has: %s', (_, [, message]) => {
  const said = inCommandWords(message, pipe)
  expect(said).not.toMatch(/\b(onRejected|the option|contentType|\w+Ms|max[A-Z]\w+)\b|compression: /i)
  expect(said).toMatch(/^[a-z0-9].*\.$/)
  expect(said).not.toMatch(/ {2}|\.\./)
})

it('says what a command keeps of refused events', () => {
  const [, message] = warnings.rejected('orders', 2, 'no such field')
  expect(inCommandWords(message, pipe)).toMatch(
    /Refused events are not sent again\. The spool, if there is one, keeps them in rejected\.ndjson\.$/,
  )
})
