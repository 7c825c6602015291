/** The examples as users run them: each in a separate process, with the built package. */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { startEmulator } from '../src/emulator.ts'
import { runScript } from './support/run-script.ts'
import { surroundings } from './support/surroundings.ts'

/** The output that each example must show. */
const shown: Readonly<Record<string, readonly RegExp[]>> = {
  'demo.ts': [
    /order: \{ id: 42, customer: \{ id: 1234, plan: 'team' \} \}/,
    /cause: \{\s+name: 'Error',\s+message: 'the bank answered 51'/,
    /http: \{ request: \{ method: 'POST' \}, response: \{ status_code: 201 \} \}/,
    /body: \{ sku: 'A-1', warehouse: \{ city: 'Gent', left: 3 \} \}/,
    /message: 'last words'/,
    /1 answered with 503, 1 broken off/,
    /^None lost\.$/m,
  ],
  'graceful-shutdown.ts': [
    /^The request under way was answered: served$/m,
    /^5 events arrived:$/m,
    /listening\n.*request begun\n.*stopping\n.*request served\n.*stopped\n$/,
  ],
  'noise.ts': [
    /^5 events arrived:\n {2}- no connection to the database\n {2}trace-2 order read\n {2}trace-2 card charged\n/m,
    /^ {2}- no connection to the database \{"repeated":\{"count":499,"first_time":"\S+Z","last_time":"\S+Z"\}\}$/m,
    /^dropped: \{ collapsed: \{ error: 499 \}, untriggered: \{ debug: 1, info: 1 \} \}$/m,
  ],
  'one-shipper.ts': [
    /^Events delivered: 2, requests made: 1$/m,
    /message: 'order placed',\s+trace_id: '(\w{32})'[\s\S]*message: 'stock reserved',[^}]*trace_id: '\1'/,
  ],
  'org-oauth.ts': [
    /^an access token, for \d+ s$/m,
    /maxFields: \d+/,
    /^another access token/m,
    /^Shipping Department, in /m,
  ],
  'otel.ts': [
    /^2 events arrived:$/m,
    /http: \{\s+request: \{ method: 'POST' \},\s+route: '\/orders',\s+response: \{ status_code: 201 \}/,
    /resource: \{ service: \{ name: 'checkout', version: '1\.4\.0' \} \}/,
    /body: \{ sku: 'A-1', left: 3, warehouse: \{ city: 'Gent' \} \}/,
  ],
  'serverless.ts': [
    /^Order 42 answered with 200; events there: 1\nOrder 13 answered with 500; events there: 3$/m,
    /^Request answered: served\nAfter waitUntil, events there: 4$/m,
    /order received 42\n.*order received 13\n.*order failed 13\n.*request served \/orders\n/,
  ],
  'several-datasets.ts': [
    /^app:\n {2}\{.*"listening"\}\n/m,
    /^requests:\n {2}\{.*"GET \/orders\/42"\}\n {2}\{.*"GET \/orders\/43"\}\n/m,
    /^audit:\n {2}\{.*"role granted"\}\n/m,
  ],
  'shaping.ts': [
    /^3 of 5 events were delivered. Dropped as intended: \{ transform: \{ info: 1 \}, sample: \{ debug: 1 \} \}$/m,
    /user: 'ann',\s+level: 'info',\s+message: 'signed in',\s+request_id: 'r-7',\s+customer: 1234\s+\}/,
    /trace_id: '0af7651916cd43dd84f8eb211c80319c',\s+level: 'debug',\s+message: 'cache miss',\s+logferry: \{ sampling_rate: 0\.1 \}/,
    /message: 'shipped, for a minute'/,
  ],
  'spool.ts': [
    /logferry: 3 events could not be delivered .* Delivery continues from the spool/,
    /^(\S+ +left behind +3 .* shop\n){2}total +6 /m,
    /^9 events arrived:\n( {2}\S+Z order placed [123] \(\d+\)\n){9}$/m,
  ],
  'web-app.ts': [
    /^6 events arrived; those of the requests:$/m,
    /"route":"\/orders\/:id","status":200\}.*"level":"info","message":"GET \/orders\/42"/,
    /"route":"\/orders\/:id","status":500\}.*"level":"error","message":"GET \/orders\/13"/,
    /"status":404\}.*"message":"GET \/nowhere"/,
  ],
  'winston.ts': [
    /^3 events arrived:$/m,
    /order: \{ id: 42, total: 99\.5, items: \[ \{ sku: 'A-1', quantity: 2 \} \] \}/,
    /request: \{ id: 'r-7', customer: \{ id: 1234, plan: 'team' \} \}/,
    /cause: \{\s+name: 'Error',\s+message: 'the bank answered 51: insufficient funds'/,
  ],
}

const root = new URL('..', import.meta.url)
const examples = readdirSync(new URL('examples', root)).filter(name => name.endsWith('.ts'))

describe('examples', () => {
  it('all have an entry in the table above, and the table has no other entries', () => {
    expect(Object.keys(shown).sort()).toEqual(examples.sort())
  })

  it.each(examples)('%s imports the package by its name, as its users do', name => {
    expect(readFileSync(new URL(`examples/${name}`, root), 'utf8')).not.toMatch(/(from |import\()'\.\.\//)
  })

  it.concurrent.each(examples)('%s runs unchanged, and prints the expected output', async name => {
    const { stdout, stderr } = await run(name)
    expect(stderr).toBe('')
    for (const pattern of shown[name] ?? []) expect(stdout).toMatch(pattern)
  })
})

describe('docs/examples.md', () => {
  const page = readFileSync(new URL('docs/examples.md', root), 'utf8')
  const { scripts } = JSON.parse(readFileSync(new URL('examples/apps/package.json', root), 'utf8'))

  it.each(examples)('lists %s', name => {
    expect(page).toContain(`| [${name}](../examples/${name}) | `)
  })

  it.each(Object.keys(scripts).filter(name => !['types', 'queue:add'].includes(name)))('lists the app %s', name => {
    expect(page).toContain(`| [\`${name}\`](../examples/apps/`)
  })
})

describe('the first example of the README', () => {
  it.each([
    [true, /^delivered\n$/],
    [false, /^1 of 1 events were not delivered\n$/],
  ])('tells delivered events from undelivered ones: with the right token, %s', async (isRight, said) => {
    const [, example = ''] = /```ts\n([\s\S]*?)```/.exec(readFileSync(new URL('README.md', root), 'utf8')) ?? []
    expect(example).toContain('LogferryTransport')
    await using emulator = await startEmulator()
    const quick = `baseUrl: '${emulator.url}', flushTimeoutMs: 500`
    const { stdout, stderr } = await runScript(example.replace("baseUrl: 'https://…'", quick), {
      LOGFERRY_TOKEN: isRight ? emulator.token : 'wrong',
    })
    expect(stdout).toMatch(said)
    if (!isRight) expect(stderr).toContain('LOGFERRY_PAUSED')
  })
})

describe('the demo', () => {
  it('counts what was logged and what arrived, source by source', async () => {
    const { stdout } = await run('demo.ts')
    const table = stdout.slice(stdout.indexOf('logged'))
    const rows = [...table.matchAll(/^(\w.*?) {2,}([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+)$/gm)]
    const counts = rows.map(([, name, ...cells]) => [name, ...cells.map(cell => Number(cell.replaceAll(',', '')))])
    expect(counts).toEqual([
      ['Winston', 1000, 1000, 0, 0],
      ['OpenTelemetry', 1000, 1000, 0, 0],
      ["OpenTelemetry, through the SDK's own batches", 1000, 1000, 0, 0],
      ['A process that logs and ends', 1, 1, 0, 0],
      ['A process that logs and calls process.exit()', 1, 1, 0, 0],
      ['Total', 3002, 3002, 0, 0],
    ])
  })
})

const runs = new Map<string, Promise<{ stdout: string; stderr: string }>>()

/** Runs an example once. Rejects with the output if the example does not exit with 0. */
function run(name: string): Promise<{ stdout: string; stderr: string }> {
  const running = runs.get(name) ?? start(name)
  runs.set(name, running)
  return running
}

function start(name: string): Promise<{ stdout: string; stderr: string }> {
  const environment = surroundings() // colours and LOGFERRY_… of whoever runs the tests stay out
  return promisify(execFile)(process.execPath, [`examples/${name}`], { cwd: root, env: environment, timeout: 15_000 })
}
