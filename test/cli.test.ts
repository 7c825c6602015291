/** The built command, in separate processes. */
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { get } from 'node:http'
import { createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import packageJson from '../package.json' with { type: 'json' }
import { createOrgClient } from '../src/org.ts'
import { unprintable } from './support/hostile-text.ts'
import { logferry, logferryInTurn, startLogferry } from './support/logferry.ts'
import { runProgram } from './support/run-script.ts'
import { runSync } from './support/run-sync.ts'
import type { RunningProcess } from './support/start-node.ts'

const main = fileURLToPath(new URL('../dist/cli/main.cjs', import.meta.url))

/** Returns the chunks that a chunk of the built commands loads at once. */
function chunksThatLoadWith(name: string): (string | undefined)[] {
  const source = readFileSync(new URL(`../dist/shared/${name}.cjs`, import.meta.url), 'utf8')
  return [...source.matchAll(/^const \w+ = require\("\.\/([\w-]+)\.cjs"\)/gm)].map(([, chunk]) => chunk)
}

describe.concurrent('logferry', () => {
  it.each(['--help', '-h', 'help'])('lists the commands with %s', async option => {
    const { code, stdout, stderr } = await logferry([option])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^Usage: logferry <command>/)
    expect(stdout).toMatch(/^ {2}emulator /m)
    expect(stdout).toMatch(/^ {2}check /m)
    expect(stdout).toMatch(/^ {2}spool .*: ls, show, verify, export, send,\n +resend-rejected$/m)
  })

  it.each([
    ['spool ls events', 'logferry: the current directory has been removed. '],
    ['check --url http://127.0.0.1:9 --dataset d', 'duplicates    the current directory has been removed  '],
    [
      'pipe --url http://127.0.0.1:9 --dataset d --spool events',
      'logferry: option `spool.directory` must be an absolute path, ',
    ],
  ])('names the cause where the current directory has been removed: logferry %s', async (words, cause) => {
    const script = `cd "$(mktemp -d)" && rmdir "$PWD" && exec "$0" "$1" ${words} < /dev/null`
    const environment = { LOGFERRY_TOKEN: 'a-token-of-tests' }
    const { code, stdout, stderr } = await runProgram('sh', ['-c', script, process.execPath, main], environment)
    expect(stdout + stderr).toContain(cause)
    expect(stdout + stderr).not.toMatch(/uv_cwd|report this|\n {4}at /)
    expect(code).toBeGreaterThan(0)
  })

  it('loads nothing of a command before the command is known', () => {
    const loaded = chunksThatLoadWith('command-line')
    expect(loaded).toContain('common')
    expect(loaded.filter(name => name !== 'common' && name !== 'rolldown-runtime')).toEqual([])
  })

  it('loads the dev service only to run it, and not to read events', () => {
    const loaded = chunksThatLoadWith('events')
    expect(loaded).toContain('dev-events')
    expect(loaded).not.toContain('dev-service')
  })

  it('loads nothing of a shipper to read events, and the decoder of OTLP only for a request', () => {
    expect(chunksThatLoadWith('dev-events')).toEqual(['common'])
    expect(chunksThatLoadWith('dev-service')).toContain('dev-events')
    expect(chunksThatLoadWith('dev-service')).not.toContain('otlp')
  })

  it('needs no package but those that it names: syntax too new for the oldest Node would need a helper', () => {
    const { dependencies, peerDependencies } = packageJson
    const known = Object.keys({ ...dependencies, ...peerDependencies })
    const dist = new URL('../dist/', import.meta.url)
    const files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.cjs'))
    const needed = files.flatMap(name => {
      const source = readFileSync(new URL(name, dist), 'utf8')
      return [...source.matchAll(/^(?:const|let|var) \w+ = require\("([^."][^"]*)"\)/gm)].map(([, id = '']) => id)
    })
    expect(files.length).toBeGreaterThan(20)
    expect(needed.filter(id => !id.startsWith('node:') && !known.includes(id))).toEqual([])
  })

  it('prints its version', async () => {
    expect(await logferry(['--version'])).toEqual({ code: 0, stdout: `${packageJson.version}\n`, stderr: '' })
  })

  it.each([
    [[], 'no command given', ''],
    [['chek'], "unknown command 'chek'. Did you mean check?", ''],
    [['constructor'], "unknown command 'constructor'", ''],
    [['help', 'chek'], "unknown command 'chek'. Did you mean check?", ''],
    [['chek', '--url', 'http://a'], "unknown command 'chek'. Did you mean check?", ''],
    [['--loud'], "unknown option '--loud'", ''],
    [['version'], "unknown command 'version'. Did you mean --version?", ''],
    [['-V'], "unknown option '-V'. Did you mean --version?", ''],
    [['dev', '-p', '3000'], "unknown option '-p'. Did you mean --port?", 'dev'],
    [['emulator', '-p', '3000'], "unknown option '-p'. Did you mean --port?", 'emulator'],
    [['spool'], "incomplete command 'spool'. Try 'logferry spool ls', 'logferry spool show', ", 'spool'],
    [['spool', 'lss', '/tmp'], "unknown command 'lss'. Did you mean ls?", 'spool'],
    [['check', '--loud'], "unknown option '--loud'", 'check'],
    [['check', '--dateset', 'a'], "unknown option '--dateset'. Did you mean --dataset?", 'check'],
    [['check', '--baseUrl', 'http://a'], "unknown option '--baseUrl'. Did you mean --url?", 'check'],
    [
      ['check', '--token', 'a'],
      "unknown option '--token'. Set LOGFERRY_TOKEN to an API token of the service.",
      'check',
    ],
    [['tail', '--level', 'error'], "unknown option '--level'. Put it into the query, such as 'level:>=error'", 'tail'],
    [['logs', '--level=error'], "unknown option '--level'. Put it into the query", 'logs'],
    [['logs', '--grep', 'a'], "unknown option '--grep'. Put it into the query", 'logs'],
    [['logs', '-health'], "unknown option '-health'. Put -- before a query that begins with '-'", 'logs'],
    [['tail', 'a', '-name:b'], "unknown option '-name:b'. Put -- before a query", 'tail'],
    [['logs', '-n50'], "unknown option '-n50'. The number of events is --limit", 'logs'],
    [['logs', '-n', '50'], "unknown option '-n'. The number of events is --limit, such as --limit 50.", 'logs'],
    [['logs', '-n50'], "unknown option '-n50'. The number of events is --limit", 'logs'],
    [['spool', 'show', '/tmp', '-n', '5'], "unknown option '-n'. The number of events is --limit", 'spool show'],
    [['logs', '--follow'], "unknown option '--follow'. To follow the events that arrive, use 'logferry tail'.", 'logs'],
    [['tail', '-n', '20'], "unknown option '-n'. The number of earlier events is --last, such as --last 20.", 'tail'],
    [['tail', '-f'], "unknown option '-f'. This command always follows.", 'tail'],
    [['tail', '--since', '5m'], "unknown option '--since'. For the events of a time, use 'logferry logs'.", 'tail'],
    [['pipe', '--api-token=secret'], "unknown option '--api-token'. Set LOGFERRY_TOKEN to an API token", 'pipe'],
    [['audit', '--token=secret'], "unknown option '--token'", 'audit'],
    [['audit', '--json=true'], "option '--json' takes no value", 'audit'],
    [
      ['dev', 'node', 'a.js'],
      "too many arguments for 'dev'. Expected 0 arguments but got 2: node, a.js. Write --",
      'dev',
    ],
    [
      ['pipe', 'a.log'],
      "too many arguments for 'pipe'. Expected 0 arguments but got 1: a.log. The lines come from standard input",
      'pipe',
    ],
    [['check', 'twice'], "too many arguments for 'check'. Expected 0 arguments but got 1: twice.", 'check'],
    [['check', '--url'], "option '--url <address>' argument missing", 'check'],
    [['check', '--url', '--dataset'], "option '--url <address>' argument '--dataset' is invalid. It is an", 'check'],
    [['spool', 'ls', 'a', '--directory', 'b'], 'directory is given twice: as an argument, and with --', 'spool ls'],
    [['emulator', '--port', '-1'], "--port must be a number from 0 to 65535, not '-1'", 'emulator'],
    [['emulator', '--port', 'http'], "--port must be a number from 0 to 65535, not 'http'", 'emulator'],
    [['emulator', '--port', '65536'], "--port must be a number from 0 to 65535, not '65536'", 'emulator'],
    [['emulator', '--host='], '--host must be a host name or an address', 'emulator'],
    [['emulator', '--allow-host', 'http://a'], '--allow-host must be a host name or an address', 'emulator'],
    [['emulator', '--allow-host', '['], '--allow-host must be a host name or an address', 'emulator'],
    [['emulator', '--allow-host', 'a:99999'], '--allow-host must be a host name or an address', 'emulator'],
    [['emulator', '--token', 'a b'], '--token may contain only letters, digits and . _ ~ + / = -', 'emulator'],
    [['completion'], 'no shell given: name bash, zsh or fish', 'completion'],
    [['completion', 'csh'], "value 'csh' is invalid for argument 'shell'. Allowed choices are bash, zsh", 'completion'],
  ])('exits with 2 for %j, and says what is wrong and where to read on', async (args, problem, name) => {
    const { code, stdout, stderr } = await logferryInTurn(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    const [first, ...rest] = stderr.split('\n')
    expect(first).toContain(`logferry: ${problem}`)
    const next = name === '' ? "Run 'logferry --help' for the commands." : `Run 'logferry ${name} --help' for help.`
    expect(rest).toEqual([next, ''])
  })

  it.each([
    ['--token=secret'],
    ["--token='secret'"],
    ["--token=t'. Did you secret"],
    ["--to'ken=secret"],
    ['--dateset=secret'],
    ["--datese=t'secret"],
  ])('does not repeat the value of an unknown option, which may be a secret: %s', async argument => {
    const { code, stderr } = await logferry(['check', argument])
    expect(code).toBe(2)
    expect(stderr).not.toContain('secret')
  })

  it.each([
    [['check\u001b[2J\nlogferry: forged\u009b']],
    [['spool', 'ls\u001b[2J\nlogferry: forged\u202e']],
    [['spool', 'ls', 'a', 'b\u001b[2J\nlogferry: forged']],
    [['check', '--no\u001b[2J\nlogferry: forged']],
    [['spool', 'send', 'a', '--timeout', '\u001b[2J\nlogferry: forged']],
    [['bench', '--events', '\u001b[2J\nlogferry: forged']],
    [['emulator', '--port', '\u001b[2J\nlogferry: forged']],
  ])('repeats invalid arguments as one line of printable characters: %j', async args => {
    const { code, stderr } = await logferryInTurn(args)
    expect(code).toBe(2)
    expect(stderr).not.toMatch(unprintable)
    expect(stderr.split('\n')[0]).toContain('2J logferry: forged')
  })

  it.each([[['spool', 'ls', '/no/such\u001b[2J\nlogferry: forged\u009b']], [['emulator', '--host', '256.0.0.1']]])(
    'repeats valid arguments that fail in printable characters: %j',
    async args => {
      const { code, stdout, stderr } = await logferry(args, { LOGFERRY_TOKEN: 'some-token', LOGFERRY_DATASET: 'd' })
      expect(code).toBe(1)
      expect(stdout + stderr).not.toMatch(unprintable)
      expect(stderr).not.toMatch(/^logferry: forged/m)
    },
  )

  it.each([
    ['emulator --help', 'emulator'],
    ['check -h', 'check'],
    ['help emulator', 'emulator'],
    ['help spool send', 'spool send'],
    ['help spool send /var/spool/app --yes', 'spool send'],
    ['help spool', 'spool <command>'],
    ['spool -h', 'spool <command>'],
    ['help help', '<command>'],
  ])('prints with %j the help of %s', async (words, usage) => {
    const { code, stdout, stderr } = await logferryInTurn(words.split(' '))
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(new RegExp(`^Usage: logferry ${usage} `))
  })

  it.each([
    ['completion bash', 0],
    ['logs --help', 0],
    ['check', 1], // no address is given
    ['audit package.json', 1], // no event has a uid
    ['pipe --json --dataset d --url http://127.0.0.1:1 --timeout 0.1 < package.json 2> /dev/null', 1], // nothing is delivered
  ])('ends quietly if its output is no longer read, with its own exit code: %s', async (words, code) => {
    const script = `"$0" "$1" ${words} | true; echo $PIPESTATUS`
    const args = ['-c', script, process.execPath, main]
    const { stdout, stderr } = await runProgram('bash', args, { LOGFERRY_TOKEN: 'token' })
    expect({ stdout, stderr }).toEqual({ stdout: `${code}\n`, stderr: '' })
  })

  it.each(['--help', '--version'])('says so if standard output cannot be written: %s', option => {
    const full = openSync('/dev/full', 'w')
    const { status, stderr } = runSync(process.execPath, [main, option], { stdio: ['ignore', full, 'pipe'] })
    closeSync(full)
    expect([status, stderr]).toEqual([
      1,
      'logferry: standard output cannot be written (ENOSPC). Check where it goes, and its disk.\n',
    ])
  })

  it.each(['20.20.2', '22.18.0'])('says that Node %s is too old', async version => {
    const pretend = `data:text/javascript,Object.defineProperty(process.versions,'node',{value:'${version}'})`
    const { code, stdout, stderr } = await logferry(['--version'], {}, ['--import', pretend])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    const neededNode = `${packageJson.engines.node.replace('>=', '')} or later`
    expect(stderr).toMatch(`logferry needs Node ${neededNode}; this is Node ${version} (`)
    expect(stderr).toMatch(/ Run the program with a newer Node\.\n$/)
  })
})

describe.concurrent('logferry emulator', () => {
  it('prints the settings that an application needs, and ends on SIGTERM', async () => {
    await using running = startLogferry(['emulator'])
    const { code } = await logferry(['check'], await environmentOf(running))
    expect(code).toBe(0)
    expect(await running.end('SIGTERM')).toBe(0)
    expect(running.stdout()).toMatch(/Events received: 1\n$/)
    expect(running.stderr()).toBe('')
  })

  it('prints an access token that reads its organization', async () => {
    await using running = startLogferry(['emulator'])
    const { LOGFERRY_URL: baseUrl, LOGFERRY_ORG_ID: orgId = '' } = await environmentOf(running)
    const accessToken = /access token.*\n\n {2}(\S+)\n/.exec(running.stdout())?.[1]
    await using client = createOrgClient({ baseUrl, accessToken })
    expect(await client.get(orgId)).toMatchObject({ id: orgId })
  })

  it('refuses a malformed path in the bundled build, and ends on SIGINT', async () => {
    await using running = startLogferry(['emulator'])
    const { LOGFERRY_URL: url } = await environmentOf(running)
    const response = await fetch(`${url}/v1/datasets/%ff/ingest`, { method: 'POST' })
    expect([response.status, await response.json()]).toEqual([400, expect.objectContaining({ code: 'malformed-path' })])
    expect(await running.end('SIGINT')).toBe(0)
  })

  it('ends at once at a second signal, of any kind, if its end takes long', async () => {
    const endless = "import http from 'node:http';http.Server.prototype.close=function(){return this}"
    const preload = `data:text/javascript,${encodeURIComponent(endless)}`
    await using running = startLogferry(['emulator'], {}, ['--import', preload])
    await environmentOf(running)
    running.signal('SIGINT')
    await delay(1000)
    expect(await running.end('SIGTERM')).toBeNull()
  })

  it('prints with --tail one line per event, and nothing else on standard output', async () => {
    await using running = startLogferry(['emulator', '--tail'])
    const { LOGFERRY_URL: url, LOGFERRY_TOKEN: token } = await environmentOf(running)
    const post = (dataset: string, body: string) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      return fetch(`${url}/v1/datasets/${dataset}/ingest`, { method: 'POST', headers, body })
    }
    await post('one', '[{"n":1},{"n":2}]')
    await running.until(/"n":2/)
    const text = '\u009b31m\u202e\u2028\u200b\u007f\u{e0041}'
    await post(encodeURIComponent('two\u202e\u009b2J'), `{\n"text": "${text}"\r\n}`)
    await post('one', '[{"n":3}]')
    expect(await running.end('SIGTERM')).toBe(0)
    const lines = running.stdout().trimEnd().split('\n')
    expect(lines.slice(0, 2)).toEqual(['one {"n":1}', 'one {"n":2}'])
    const [third, fourth = ''] = lines.slice(2).sort()
    expect(third).toBe('one {"n":3}')
    expect(running.stdout()).not.toMatch(unprintable)
    expect(fourth).toMatch(/^two 2J \{/)
    expect(JSON.parse(fourth.slice('two 2J '.length))).toEqual({ text })
    expect(running.stderr()).toMatch(/Events received: 4\n$/)
  })

  it('listens on the given host, with the given token', async () => {
    await using running = startLogferry(['emulator', '--host', 'localhost', '--token', 'local-token'])
    const environment = await environmentOf(running)
    expect(environment.LOGFERRY_URL).toMatch(/^http:\/\/localhost:\d+$/)
    expect(environment.LOGFERRY_TOKEN).toBe('local-token')
    expect((await logferry(['check'], environment)).code).toBe(0)
  })

  it('answers requests for the allowed hosts, such as the name of a container', async () => {
    await using running = startLogferry(['emulator', '--allow-host', 'emulator', '--allow-host', 'logs.example'])
    const { port } = new URL((await environmentOf(running)).LOGFERRY_URL ?? '')
    const statusFor = async (host: string) => {
      const [response] = await once(get({ port, host: '127.0.0.1', headers: { host } }), 'response')
      return response.resume().statusCode
    }
    expect(await statusFor(`emulator:${port}`)).toBe(200)
    expect(await statusFor('logs.example')).toBe(200)
    expect(await statusFor('attacker.example')).toBe(403)
  })

  it.each([
    ['256.0.0.1', /no name server knows the host|EAI_AGAIN/],
    ['192.0.2.1', /this machine does not have that address/],
  ])('exits with 1 if it cannot listen on %s, and says why', async (host, reason) => {
    const { code, stdout, stderr } = await logferry(['emulator', '--host', host])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(`logferry: the emulator cannot listen on ${host}: `)
    expect(stderr).toMatch(reason)
  })

  it('exits with 1 if the port is in use, and says so', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as { port: number }
    const { code, stdout, stderr } = await logferry(['emulator', '--port', `${port}`])
    other.close()
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toBe(
      `logferry: the emulator cannot listen on port ${port} of 127.0.0.1: the port is in use. Choose another address with --port or --host.\n`,
    )
  })
})

/** Returns the environment variables that the emulator prints. */
async function environmentOf({ until, stdout, stderr }: RunningProcess): Promise<Record<string, string>> {
  await until(/Press Ctrl-C to stop/)
  const assignments = (stdout() + stderr()).matchAll(/^ {2}export (LOGFERRY_\w+)=(.*)$/gm)
  return Object.fromEntries([...assignments].map(([, name, value]) => [name, value]))
}
