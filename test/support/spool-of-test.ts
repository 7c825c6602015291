/** Spools for tests of the commands, with what shippers have left. */
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Emulator } from '../../src/emulator.ts'
import { createShipper } from '../../src/index.ts'
import { runScript } from './run-script.ts'
import { startNode } from './start-node.ts'

/** An address without a server. */
export const nowhere = 'http://127.0.0.1:1'

export interface SpoolOfTest extends Disposable {
  readonly directory: string
  /** Returns every file in the spool, with its size. */
  files(): string[]
  segments(): string[]
  /** Overwrites a byte in the middle of the first segment. */
  damage(): void
}

export function makeSpool(): SpoolOfTest {
  const around = fs.mkdtempSync(join(tmpdir(), 'logferry-cli-'))
  const directory = join(around, 'spool')
  fs.mkdirSync(directory)
  const names = () => fs.readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort()
  const segments = () =>
    names()
      .filter(name => name.endsWith('.segment'))
      .map(name => join(directory, name))
  return {
    directory,
    files: () => names().map(name => `${name} ${fs.statSync(join(directory, name)).size}`),
    segments,
    damage() {
      const [path = ''] = segments()
      const bytes = fs.readFileSync(path)
      bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1)
      fs.writeFileSync(path, bytes)
    },
    [Symbol.dispose]: () => fs.rmSync(around, { recursive: true }),
  }
}

/** Returns a program that logs events while the service is down, each on disk before its log call returns. */
function logging(directory: string, options: string, count: number, then: string, url = nowhere): string {
  const fixed = `baseUrl: '${url}', token: 'another-token', dataset: 'd', durability: 'disk'`
  return `
    import { createShipper } from 'logferry'
    const spool = { directory: ${JSON.stringify(directory)} }
    const shipper = createShipper({ ${fixed}, spool, ${options} }).on('warning', () => {})
    for (let n = 0; n < ${count}; n++) shipper.ship({ level: 'info', n })
    ${then}
  `
}

/** Starts a program that goes on running, but is blocked, so that it adopts nothing. */
export function startLogging(directory: string, count: number) {
  const stay = 'console.log("logged"); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)'
  return startNode(['--input-type=module', '--eval', logging(directory, '', count, stay)])
}

export async function leaveByKill(directory: string, options: string, count: number, url?: string): Promise<void> {
  const { signal } = await runScript(logging(directory, options, count, "process.kill(process.pid, 'SIGKILL')", url))
  expect(signal).toBe('SIGKILL')
}

/** Leaves events as a process does that ends by `close()`, but from this process. */
export async function leaveByClose(directory: string, count: number, emulator?: Emulator): Promise<void> {
  emulator?.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
  const baseUrl = emulator?.url ?? nowhere
  const shipper = createShipper({ baseUrl, token: 'another-token', dataset: 'd', spool: { directory } })
  shipper.on('warning', () => {})
  for (let n = 0; n < count; n++) shipper.ship({ level: 'info', n })
  await shipper.close({ timeoutMs: 100 })
  emulator?.faults.clear()
}

export function environmentFor({ url, token }: Pick<Emulator, 'url' | 'token'>): Record<string, string> {
  return { LOGFERRY_URL: url, LOGFERRY_TOKEN: token }
}
