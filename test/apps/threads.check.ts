import { expect, it } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'
import { startApp } from './app.ts'

it('the worker threads ship all of their events before they end, beside those of the main thread', async () => {
  await using emulator = await startEmulator()
  await using app = startApp(emulator, ['threads/main.ts'])
  expect([await app.end(), app.stderr()]).toEqual([0, ''])

  const events = emulator.events('threads')
  const tasks = events.filter(({ message }) => message === 'task done')
  const ids = tasks.map(({ task }) => (task as { id: number }).id)
  expect(ids.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1))
  expect(new Set(tasks.map(({ thread }) => thread))).toEqual(new Set(['a', 'b']))
  expect(events.filter(({ thread }) => thread === 'main').map(({ message }) => message)).toEqual([
    'begun',
    'all tasks done',
  ])
})
