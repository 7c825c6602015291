import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { arrived, newIndex } from './support/events.ts'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

it('keeps the start of a long value as the example of its field, and not the rest', () => {
  const maxBytes = 4_194_304
  const index = newIndex({ maxBytes })
  collect()
  const before = process.memoryUsage().heapUsed
  for (let n = 0; n < 200; n++) index.add(arrived({ [`field${n}`]: `${n} `.padEnd(200_000, 'long ') }))
  collect()
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(maxBytes)
  expect(index.fields({ prefix: 'field7', maxFields: null }).fields[0]?.example).toHaveLength(82)
})
