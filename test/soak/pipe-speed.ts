/**
 * Measures how many lines per second `logferry pipe` reads and delivers, from a file to an emulator in a process of its
 * own: `npm run build && node test/soak/pipe-speed.ts`. Prints a table. `--lines 100000` sets the number of lines.
 */
import { closeSync, openSync } from 'node:fs'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startLogferry } from '../support/logferry.ts'
import { type PipeTarget, startPipe } from '../support/start-pipe.ts'

const { values } = parseArgs({ options: { lines: { type: 'string', default: '1000000' } } })
const count = Number(values.lines)
const startMs = Date.UTC(2026, 10, 22)

/** Lines of four loggers, a hundred in each millisecond. */
const shapes: Readonly<Record<string, (n: number, ms: number) => string>> = {
  Pino: (n, ms) =>
    `{"level":30,"time":${ms},"pid":4242,"hostname":"ip-10-0-4-17","reqId":"${idOf(n)}","n":${n},"msg":"request completed in ${n % 977} ms"}`,
  zap: (n, ms) =>
    `{"level":"info","ts":${ms / 1000},"caller":"server/http.go:${n % 400}","msg":"handled","path":"/api/orders/${idOf(n)}","status":${n % 9 ? 200 : 404},"user":{"id":${n % 5000},"plan":"team"},"bytes":${n * 7}}`,
  ECS: (n, ms) =>
    `{"@timestamp":"${new Date(ms).toISOString()}","log.level":"INFO","message":"order ${idOf(n)} \u2013 placed","service":{"name":"checkout","version":"4.18.2"},"trace":{"id":"${idOf(n)}${idOf(n + 1)}"},"tags":["web","orders"],"duration":${(n % 997) / 8}}`,
  text: (n, ms) =>
    `${new Date(ms).toISOString()} INFO [worker-${n % 16}] com.example.orders.OrderService - Order ${idOf(n)} placed by user ${n % 5000} in ${n % 977} ms`,
}

/** Returns digits that a compressor cannot predict. */
function idOf(n: number): string {
  return (Math.imul(n + 1, 0x9e3779b1) >>> 0).toString(16).padStart(8, '0')
}

/** Yields the lines, a thousand at a time. */
function* linesOf(lineOf: (n: number, ms: number) => string): Generator<string> {
  for (let n = 0; n < count; ) {
    let lines = ''
    for (const end = Math.min(n + 1000, count); n < end; n++) lines += `${lineOf(n, startMs + Math.floor(n / 100))}\n`
    yield lines
  }
}

async function linesPerSecond(target: PipeTarget, path: string, args: readonly string[]): Promise<number> {
  const input = openSync(path, 'r')
  const startedAtMs = performance.now()
  await using running = startPipe(target, args, input)
  closeSync(input)
  const code = await running.end()
  if (code !== 0) throw new Error(`exit code ${code}: ${running.stderr()}`)
  return (count * 1000) / (performance.now() - startedAtMs)
}

const directory = await mkdtemp(join(tmpdir(), 'logferry-pipe-speed-'))
await using emulator = startLogferry(['emulator', '--token', 'a-token-of-tests'])
await emulator.until(/LOGFERRY_TOKEN/)
const url = /LOGFERRY_URL=(\S+)/.exec(emulator.stdout())?.[1] as string
const target = { url, token: 'a-token-of-tests' }
const spool = join(directory, 'spool')

console.log(`${count} lines, Node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model}\n`)
console.log('| lines of | bytes | lines/s | with --spool | with --spool --tee |\n|---|---|---|---|---|')
try {
  for (const [name, lineOf] of Object.entries(shapes)) {
    const path = join(directory, name)
    await writeFile(path, linesOf(lineOf))
    const bytes = Math.round((await stat(path)).size / count)
    const speeds: number[] = []
    for (const args of [[], ['--spool', spool], ['--spool', spool, '--tee']]) {
      speeds.push(Math.round(await linesPerSecond(target, path, args)))
    }
    console.log(`| ${[name, bytes, ...speeds.map(speed => speed.toLocaleString('en'))].join(' | ')} |`)
    await rm(path)
  }
} finally {
  await rm(directory, { recursive: true })
}
