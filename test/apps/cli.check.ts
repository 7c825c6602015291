import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Emulator, startEmulator } from '../../src/emulator.ts'
import { folder, startApp } from './app.ts'

describe('the command-line program', () => {
  let emulator: Emulator
  let directory: string

  beforeAll(async () => {
    emulator = await startEmulator()
    directory = await mkdtemp(join(tmpdir(), 'logferry-cli-'))
  })
  afterAll(async () => {
    await emulator?.close()
    if (directory) await rm(directory, { recursive: true })
  })

  /** Runs the program, and returns how it ended and the events of that run. */
  async function run(...args: string[]) {
    const before = emulator.eventCount('cli')
    await using program = startApp(emulator, ['cli/import-orders.ts', ...args])
    const code = await program.end()
    const events = emulator.events('cli').slice(before)
    return { code, stdout: program.stdout(), stderr: program.stderr(), events }
  }

  it('ships a full account of its run, and prints only what concerns its user', async () => {
    const { code, stdout, stderr, events } = await run(join(folder, 'cli/orders.csv'))
    expect([code, stdout, stderr]).toEqual([1, '2 orders imported, 1 lines malformed\n', ''])
    expect(events).toMatchObject([
      { message: 'import begun', strict: false },
      { message: 'order imported', order: { id: 40, total: 12.5 } },
      { level: 'warn', message: 'line malformed', line: { number: 3, text: '41,many' } },
      { message: 'order imported', order: { id: 42, total: 99.5 } },
      { message: 'import ended', imported: 2, malformed: 1 },
    ])
    expect(new Set(events.map(event => (event.run as { id: string }).id)).size).toBe(1)
  })

  it('ships its error when it ends itself at once', async () => {
    const { code, stderr, events } = await run('missing.csv')
    expect([code, stderr]).toEqual([1, 'missing.csv cannot be read\n'])
    expect(events).toMatchObject([
      { message: 'import begun' },
      { level: 'error', message: 'file not readable', error: { code: 'ENOENT' } },
    ])
  })

  it('ships every event of a long run that it ends itself', async () => {
    const file = join(directory, 'long.csv')
    await writeFile(file, ['id,total', ...Array.from({ length: 20_000 }, (_, n) => `${n},1.5`), 'broken'].join('\n'))
    const { code, stderr, events } = await run('--strict', file)
    expect([code, stderr]).toEqual([1, 'line 20002 is malformed: broken\n'])
    expect(events.filter(({ message }) => message === 'order imported')).toHaveLength(20_000)
    expect(events.filter(({ level }) => level === 'warn')).toMatchObject([{ line: { number: 20_002, text: 'broken' } }])
  })
})
