import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { fieldsOf } from '../../src/cli/events/fields.ts'
import { addAll, arrived, newIndex } from './support/events.ts'

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

it('repeats no long name for each field below it, neither in the costs nor in the terminal', async () => {
  const name = 'long '.repeat(200_000)
  const members = Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`field${n}`, n]))
  const event = { message: 'm', [name]: members }
  const index = newIndex()
  addAll(index, [event])
  const { statements } = await index.cost({ monthlyLimit: null }) // it took half a minute
  expect(statements[0]?.heaviest[0]?.path).toMatch(/^(?:long ){51}…\.field\d+$/)
  const fields = fieldsOf(event)
  expect(fields).toHaveLength(2)
  expect(fields[1]).toEqual({ path: name, value: members })
})
