import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'

export interface RunningRedis extends AsyncDisposable {
  readonly environment: Readonly<Record<string, string>>
}

/** Starts a Redis that keeps nothing on disk. */
export async function startRedis(): Promise<RunningRedis> {
  const port = await freePort()
  const server = spawn('redis-server', ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'])
  const ended = once(server, 'close')
  for await (const printed of server.stdout.setEncoding('utf8')) {
    if (/Ready to accept connections/.test(printed)) break
  }
  return {
    environment: { REDIS_URL: `redis://127.0.0.1:${port}` },
    async [Symbol.asyncDispose]() {
      server.kill('SIGKILL')
      await ended
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
