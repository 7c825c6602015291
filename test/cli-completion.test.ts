/** The scripts for completion, as a shell runs them. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { logferry, logferryInTurn } from './support/logferry.ts'
import { canRun, runSync } from './support/run-sync.ts'

it('the help and docs/commands.md give the same recipes', async () => {
  const recipesIn = (text: string) => text.match(/logferry completion \w+ > \S+/g)
  const { stdout } = await logferryInTurn(['completion', '--help'])
  expect(recipesIn(stdout)).toHaveLength(3)
  expect(recipesIn(stdout)).toEqual(recipesIn(readFileSync('docs/commands.md', 'utf8')))
})

describe('the script for bash', () => {
  let folder: string
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'logferry-completion-'))
    mkdirSync(join(folder, 'a spool'))
    writeFileSync(join(folder, 'a file'), '')
    writeFileSync(join(folder, '.script'), (await logferry(['completion', 'bash'])).stdout)
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  /** Returns what bash offers for the last of the words. */
  function completed(...words: string[]): string[] {
    const script = `source .script; COMP_WORDS=(logferry "$@"); COMP_CWORD=$#; _logferry
      ((\${#COMPREPLY[@]} == 0)) || printf '%s\\n' "\${COMPREPLY[@]}"`
    const { status, stdout, stderr } = runSync('bash', ['-c', script, 'bash', ...words], { cwd: folder })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    return stdout.split('\n').filter(Boolean)
  }

  it.each([
    [['em'], 'emulator'],
    [['--v'], '--version'],
    [['help', 'em'], 'emulator'],
    [['help', 'spool', '']],
    [['spool', ''], 'ls', 'show', 'verify', 'export', 'send', 'resend-rejected'],
    [['spool', 's'], 'send', 'show'],
    [['dev', '--', 'node', 'a'], 'a file', 'a spool'],
    [['emulator', '--po'], '--port'],
    [['emulator', '--port', '4']],
    [['spool', 'ls', 'a'], 'a spool'],
    [['spool', 'ls', '--directory', 'a'], 'a spool'],
    [['spool', 'ls', '--directory', '=', 'a'], 'a spool'],
    [['audit', 'a'], 'a file', 'a spool'],
    [['completion', ''], 'bash', 'zsh', 'fish'],
    [['no-such-command', '']],
  ])('offers after %j: %s %s %s', (words, ...expected) => {
    expect(completed(...words).toSorted()).toEqual(expected.toSorted())
  })

  it('offers programs after --', () => {
    expect(completed('dev', '--port', '1', '--', 'tru')).toContain('true')
  })

  it('offers the commands first', () => {
    expect(completed('')).toEqual(expect.arrayContaining(['emulator', 'check', 'spool', 'help']))
    expect(completed('spool', '')).toEqual(expect.arrayContaining(['ls', 'send']))
  })
})

const isThere = (shell: string) => canRun(shell, ['-c', 'true'])

describe.each(['bash', 'zsh', 'fish'])('the script for %s', shell => {
  it.runIf(isThere(shell))('has the syntax of that shell', async () => {
    using script = await scriptFor(shell)
    const { status, stderr } = runSync(shell, ['-n', script.path])
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  })

  it('knows every command', async () => {
    const help = (await logferryInTurn(['--help'])).stdout.split('Commands:')[1] ?? ''
    const names = [...help.matchAll(/^ {2}(\w+)/gm)].map(([, name = '']) => name)
    expect(names).toContain('check')
    const { code, stdout } = await logferryInTurn(['completion', shell])
    expect(code).toBe(0)
    for (const name of names) expect(stdout).toMatch(new RegExp(`\\b${name}\\b`))
  })
})

it.runIf(isThere('fish'))('fish offers commands, options, choices, directories and files', async () => {
  using script = await scriptFor('fish')
  const offered = (line: string) => {
    const args = ['--no-config', '-c', 'source $argv[1]; complete -C $argv[2]', script.path, line]
    const { stdout } = runSync('fish', args)
    const rows = stdout.split('\n').filter(Boolean)
    return rows.map(row => row.split('\t')[0])
  }
  expect(offered('logferry em')).toEqual(['emulator'])
  expect(offered('logferry help em')).toEqual(['emulator'])
  expect(offered('logferry spool s')).toEqual(['send', 'show'])
  expect(offered('logferry pipe --form')).toEqual(['--format'])
  expect(offered('logferry pipe --format ')).toEqual(['auto', 'json', 'text'])
  expect(offered('logferry spool ls /usr/lo')).toEqual(['/usr/local/'])
  expect(offered('logferry audit test/emulator/wi')).toEqual(['test/emulator/wire.ts'])
  expect(offered('logferry dev --load test/emulator/wi')).toEqual(['test/emulator/wire.ts'])
})

/** Writes the script for a shell to a file. */
async function scriptFor(shell: string) {
  const folder = mkdtempSync(join(tmpdir(), 'logferry-completion-'))
  const path = join(folder, 'script')
  writeFileSync(path, (await logferryInTurn(['completion', shell])).stdout)
  return { path, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) }
}
