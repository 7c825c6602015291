import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { get } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Emulator } from '../../src/emulator.ts'
import { type RunningProcess, startNode } from '../support/start-node.ts'

export const folder = join(import.meta.dirname, '../../examples/apps')

/** Environment of an app: the emulator in place of the service, and a free port. */
export function environmentFor(emulator: Emulator): Record<string, string> {
  return { LOGFERRY_URL: emulator.url, LOGFERRY_TOKEN: emulator.token, PORT: '0', HOME: process.env.HOME ?? '/' }
}

/** Starts a program of `examples/apps`. */
export function startApp(
  emulator: Emulator,
  [program = '', ...args]: readonly string[],
  environment: Record<string, string> = {},
): RunningProcess {
  return startNode([join(folder, program), ...args], { ...environmentFor(emulator), ...environment })
}

/** Runs a command in `examples/apps`. A command that fails throws all its output. */
export async function build(program: string, ...args: string[]): Promise<void> {
  const path = join(folder, 'node_modules', program)
  try {
    await promisify(execFile)(process.execPath, [path, ...args], { cwd: folder, timeout: 220_000 })
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${program} ${args.join(' ')}\n${stdout}${stderr}`) // no cause: it would print all of it again
  }
}

/** Waits until an app prints that it listens, and returns its address. */
export async function addressOf(app: RunningProcess): Promise<string> {
  const listening = /listening (?:on|at) (http:\S+)/
  await app.until(listening)
  return listening.exec(app.stdout())?.[1] ?? ''
}

/** A request that the app has begun to serve. */
export interface BegunRequest {
  /** Resolves to the status of the answer. */
  answered: Promise<number | undefined>
}

/** Makes a request, and waits until the server has read its head. */
export async function beginRequest(url: string): Promise<BegunRequest> {
  const request = get(url, { headers: { expect: '100-continue' } })
  const answered = once(request, 'response').then(([response]) => {
    response.resume()
    return response.statusCode
  })
  await Promise.race([once(request, 'continue'), answered])
  return { answered }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
