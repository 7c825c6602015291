/** The scripts for completion, as a shell runs them. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { logferry } from './support/logferry.ts'

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
    const { status, stdout, stderr } = spawnSync('bash', ['-c', script, 'bash', ...words], { cwd: folder })
    expect({ status, stderr: String(stderr) }).toEqual({ status: 0, stderr: '' })
    return String(stdout).split('\n').filter(Boolean)
  }

  it.each([
    [['em'], 'emulator'],
    [['--v'], '--version'],
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

describe.each(['bash', 'zsh', 'fish'])('the script for %s', shell => {
  it('knows every command', async () => {
    const help = (await logferry(['--help'])).stdout.split('Commands:')[1] ?? ''
    const names = [...help.matchAll(/^ {2}(\w+)/gm)].map(([, name = '']) => name)
    expect(names).toContain('check')
    const { code, stdout } = await logferry(['completion', shell])
    expect(code).toBe(0)
    for (const name of names) expect(stdout).toMatch(new RegExp(`\\b${name}\\b`))
  })
})
