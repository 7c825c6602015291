import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { root } from '../../docs/pages.ts'
import type { Block } from './blocks.ts'

/** How a block has ended. */
export interface EndedBlock {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

export interface Surroundings {
  readonly folder: string
  readonly environment: Readonly<Record<string, string>>
  /** Ends a thread that would not end by itself, because of a library that keeps it alive. */
  readonly whenDone?: Promise<void> | undefined
}

/** Maximum time of a block in TypeScript or JavaScript, in milliseconds. */
const timeoutMs = 15_000

/**
 * Runs a module in a thread of its own: it has an environment, an event loop and an end of its own, and starts faster than a
 * process.
 */
export async function runInThread(path: string, { environment, whenDone }: Surroundings): Promise<EndedBlock> {
  const worker = new Worker(path, { env: { ...environment }, stdout: true, stderr: true, execArgv: [] })
  const printed = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    worker[name].setEncoding('utf8').on('data', (text: string) => {
      printed[name] += text
    })
  }
  worker.on('error', error => {
    printed.stderr += error instanceof Error ? error.stack : String(error)
  })
  const timer = setTimeout(() => {
    printed.stderr += `the block did not end within ${timeoutMs} ms`
    void worker.terminate()
  }, timeoutMs)
  let isDone = false
  whenDone?.then(() => {
    isDone = true
    void worker.terminate()
  })
  const [exitCode] = (await once(worker, 'exit')) as [number]
  clearTimeout(timer)
  return { exitCode: isDone ? 0 : exitCode, ...printed }
}

export function runInProcess(path: string, surroundings: Surroundings): Promise<EndedBlock> {
  return ended(spawn(process.execPath, [path], processOptions(surroundings)), undefined)
}

/** Runs the commands of a block with bash, which ends at the first that fails. */
export function runInShell(block: Block, surroundings: Surroundings): Promise<EndedBlock> {
  const { folder, environment } = surroundings
  const script = block.source
    .replaceAll('/var/spool/', `${folder}/spool/`)
    .replaceAll('LOGFERRY_URL=https://…', `LOGFERRY_URL=${environment.LOGFERRY_URL}`)
    .replaceAll('LOGFERRY_TOKEN=…', `LOGFERRY_TOKEN=${environment.LOGFERRY_TOKEN}`)
  const bash = spawn('bash', ['-eu', '-o', 'pipefail', '-c', script], processOptions(surroundings))
  return ended(bash, block.until)
}

function processOptions({ folder, environment }: Surroundings): SpawnOptions {
  const path = `${commandsFolder(folder)}:${process.env.PATH}`
  return {
    cwd: folder,
    env: { ...environment, PATH: path, HOME: folder },
    detached: true, // a group of its own, which a signal reaches as a whole
    stdio: ['ignore', 'pipe', 'pipe'],
  }
}

/**
 * Makes a folder with `npx` and `node`. `npx logferry` is the command as it is built here, and Node is that of the tests. A dev
 * service takes a free port, because its usual one may be in use.
 */
function commandsFolder(folder: string): string {
  const path = `${folder}/.commands`
  mkdirSync(path, { recursive: true })
  const npx = `#!/bin/sh\n[ "$1" = logferry ] || exit 127\nshift\n[ "$1" != dev ] || { shift; set -- dev --port 0 "$@"; }\nexec '${process.execPath}' '${root}dist/cli/main.cjs' "$@"\n`
  for (const [name, script] of Object.entries({ npx, node: `#!/bin/sh\nexec '${process.execPath}' "$@"\n` })) {
    writeFileSync(`${path}/${name}`, script)
    chmodSync(`${path}/${name}`, 0o755)
  }
  return path
}

/** Waits for the end of a process. When its output matches `until`, ends it by SIGINT. */
async function ended(child: ChildProcess, until: RegExp | undefined): Promise<EndedBlock> {
  const printed = { stdout: '', stderr: '' }
  const signal = (name: NodeJS.Signals) => process.kill(-(child.pid as number), name)
  let isInterrupted = false
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      printed[name] += text
      if (isInterrupted || !until?.test(printed.stdout + printed.stderr)) return
      isInterrupted = true
      signal('SIGINT')
    })
  }
  const timer = setTimeout(() => {
    printed.stderr += `the block did not end within ${timeoutMs} ms`
    signal('SIGKILL')
  }, timeoutMs)
  const [exitCode] = (await once(child, 'close')) as [number | null]
  clearTimeout(timer)
  if (until !== undefined && !isInterrupted) printed.stderr += `the output never matched ${until}`
  return { exitCode: exitCode ?? -1, ...printed }
}
