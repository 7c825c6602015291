/** Output for programs: with `--json`, standard output carries JSON and nothing else. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { commands } from '../src/cli/commands.ts'
import { startEmulator } from '../src/emulator.ts'
import { logferry, logferryInTurn, startLogferry } from './support/logferry.ts'
import { environmentFor, leaveByClose, makeSpool } from './support/spool-of-test.ts'
import { pipe } from './support/start-pipe.ts'

/** Commands whose output is for programs by its nature, without an option: a protocol, events as they are, a script. */
const forProgramsAnyway = ['mcp', 'spool export', 'completion']

it('every command has --json, unless its output is for programs by its nature', async () => {
  const without: string[] = []
  for (const [words, { load }] of Object.entries(commands)) {
    if (!Object.hasOwn((await load()).command.options, 'json')) without.push(words)
  }
  expect(without).toEqual(forProgramsAnyway)
})

/** Posts an event as any program does. */
async function post({ url, token }: { url: string; token: string }, dataset: string, event: object): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const path = `/v1/datasets/${encodeURIComponent(dataset)}/ingest`
  const { status } = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify([event]) })
  expect(status).toBe(200)
}

describe.concurrent('--json', { timeout: 60_000 }, () => {
  it.each(['emulator', 'dev'])('of %s prints settings, events and their number, one object a line', async command => {
    const home = mkdtempSync(join(tmpdir(), 'logferry-json-'))
    const environment = { HOME: home, XDG_STATE_HOME: home }
    await using running = startLogferry([command, '--port', '0', '--json', '--tail'], environment)
    const objects = () =>
      running
        .stdout()
        .split('\n')
        .slice(0, -1)
        .map(line => JSON.parse(line))
    await running.until(/"listening".*\n/)
    const [{ type, url, token, dataset, orgId, ...others }] = objects()
    expect({ type, dataset }).toEqual({ type: 'listening', dataset: 'local' })
    expect(Object.keys(others)).toEqual([command === 'dev' ? 'pageUrl' : 'accessToken'])
    const checked = await logferry(['check'], { ...environmentFor({ url, token }), LOGFERRY_DATASET: dataset })
    expect(checked.code).toBe(0)
    await post({ url, token }, 'a\u202eb', { message: 'x\u009b2J\n' })
    await running.until(/2J.*\n/)
    expect(await running.end('SIGTERM')).toBe(0)
    const [ofCheck, ours, end, ...more] = objects().slice(1)
    expect([ofCheck.type, ofCheck.event.message]).toEqual(['event', 'logferry check'])
    expect(ours).toMatchObject({ type: 'event', dataset: 'a\u202eb', event: { message: 'x\u009b2J\n' } })
    expect(running.stdout()).not.toMatch(/\u202e|\u009b/)
    expect([end, more]).toEqual([{ type: 'end', received: 2 }, []])
    expect(orgId).toMatch(/./)
    expect(running.stderr()).toBe('')
    rmSync(home, { recursive: true })
  })

  it('of dev has no effect with a program, which has standard output for itself', async () => {
    const { code, stdout, stderr } = await logferry(['dev', '--json', '--', 'true'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^logferry: --json has no effect with a program after --/)
  })

  it('of dev prints the settings of a service that runs already', async () => {
    const home = mkdtempSync(join(tmpdir(), 'logferry-json-'))
    const environment = { HOME: home, XDG_STATE_HOME: home }
    await using first = startLogferry(['dev', '--port', '0', '--json'], environment)
    await first.until(/"listening".*\n/)
    const { pageUrl, type, ...settings } = JSON.parse(first.stdout())
    const second = await logferry(['dev', '--port', new URL(settings.url).port, '--json'], environment)
    expect({ code: second.code, running: JSON.parse(second.stdout) }).toEqual({
      code: 0,
      running: { type: 'running', ...settings },
    })
    await first.end('SIGTERM')
    rmSync(home, { recursive: true })
  })

  it('of pipe prints the summary to standard output, complete or not', async () => {
    await using emulator = await startEmulator()
    const whole = await pipe(emulator, '{"a":1}\n\ntext', ['--json'])
    const nothing = { refused: 0, lost: 0, inSpool: 0, adopted: 0, belowMinimum: 0, tooLong: 0, nestedTooDeep: 0 }
    const report = { ok: true, ending: 'done', lines: 3, delivered: 2, blank: 1, notJson: 0, cut: 0, drops: {} }
    expect({ ...whole, output: JSON.parse(String(whole.output)) }).toEqual({
      code: 0,
      output: { ...nothing, ...report },
      stderr: '',
    })
    emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    const lost = await pipe(emulator, 'text\n', ['--json', '--format', 'json', '--timeout', '0.1'])
    expect(lost.code).toBe(1)
    expect(JSON.parse(String(lost.output))).toMatchObject({
      ok: false,
      ending: 'timeout',
      delivered: 0,
      lost: 1,
      notJson: 1,
      firstNotJson: 1,
      drops: { closed: {} },
    })
    expect(lost.stderr).toMatch(/^logferry: /) // the warnings
  })

  it('of pipe excludes --tee, which has standard output for itself', async () => {
    await using emulator = await startEmulator()
    const { code, output, stderr } = await pipe(emulator, '', ['--json', '--tee'])
    expect({ code, output: String(output) }).toEqual({ code: 2, output: '' })
    expect(stderr).toMatch(/^logferry: --tee and --json exclude each other/)
  })

  it('of every other command prints JSON alone', async () => {
    await using emulator = await startEmulator()
    using spool = makeSpool()
    await leaveByClose(spool.directory, 2, emulator)
    const file = join(spool.directory, '..', 'export.ndjson')
    writeFileSync(file, '{"log":{"record":{"uid":"1k3v0w9q2zb7a-1"}}}\n')
    const { directory } = spool
    const reading = [
      ['check', '--app', directory],
      ['spool', 'ls', directory],
      ['spool', 'verify', directory],
      ['spool', 'show', directory],
      ['logs', '--spool', directory],
      ['audit', file],
      ['bench', '--events', '1000', '--seconds', '2'],
    ]
    const sending = [
      ['spool', 'send', directory],
      ['spool', 'resend-rejected', directory],
    ]
    const environment = { ...environmentFor(emulator), LOGFERRY_DATASET: 'd' }
    const run = async (words: readonly string[]) => {
      const { code, stdout } = await logferryInTurn([...words, '--json'], environment)
      expect({ words, code }).toEqual({ words, code: 0 })
      expect(valuesIn(stdout).length, words.join(' ')).toBeGreaterThan(0)
    }
    await Promise.all(reading.map(run))
    await Promise.all(sending.map(run))
    const runs = [...reading, ...sending]
    // tail prints arrivals, so it is ended by the test
    const tested = [...runs.map(([first, second]) => (first === 'spool' ? `spool ${second}` : first)), 'tail']
    const others = ['emulator', 'dev', 'pipe', ...forProgramsAnyway]
    expect([...tested, ...others].toSorted()).toEqual(Object.keys(commands).toSorted())
  })

  it('prints nothing to standard output if a command has no result', async () => {
    const failing = ['spool ls /no/such', 'spool verify /no/such', 'spool send /no/such', 'audit /no/such']
    for (const run of failing.map(words => logferryInTurn([...words.split(' '), '--json']))) {
      const { code, stdout, stderr } = await run
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(/^logferry: .*\n$/)
    }
  })
})

/** Returns the one JSON value of an output, or the values of its lines. */
function valuesIn(output: string): unknown[] {
  try {
    return [JSON.parse(output)]
  } catch {
    return output
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
  }
}

describe.concurrent('settings that a command lacks', () => {
  const complete = { LOGFERRY_URL: 'http://127.0.0.1:1', LOGFERRY_TOKEN: 't', LOGFERRY_DATASET: 'd' }

  it.each([
    ['pipe', 'LOGFERRY_DATASET', 'no dataset given. Set LOGFERRY_DATASET, or give --dataset.'],
    ['pipe', 'LOGFERRY_TOKEN', 'no token given. Set LOGFERRY_TOKEN to an API token of the service. A token is never'],
    ['pipe', 'LOGFERRY_URL', 'no address given. Set LOGFERRY_URL to the address of the service, or give --url.'],
    ['bench', 'LOGFERRY_DATASET', 'no dataset given. Set LOGFERRY_DATASET, or give --dataset.'],
  ])('%s exits with 2 without %s, and says how to set it', async (command, name, remedy) => {
    const { [name as keyof typeof complete]: _, ...environment } = complete
    const { code, stdout, stderr } = await logferryInTurn([command], environment)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.split('\n')).toEqual([
      expect.stringContaining(`logferry: ${remedy}`),
      `Run 'logferry ${command} --help' for help.`,
      '',
    ])
  })

  it('are all named at once', async () => {
    const { stderr } = await logferryInTurn(['pipe'], {})
    expect(stderr).toContain(
      'logferry: no dataset, no token, no address given. Set LOGFERRY_DATASET, or give --dataset. Set LOGFERRY_TOKEN',
    )
    expect(stderr).toContain('Set LOGFERRY_URL')
    const { stdout } = await logferry(['check'], {})
    expect(stdout).toMatch(/→ Set LOGFERRY_DATASET, .* Set LOGFERRY_TOKEN .* Set LOGFERRY_URL /)
  })
})
