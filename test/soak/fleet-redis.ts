import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { promisify } from 'node:util'
import { raisePriority } from './raise-priority.ts'

/** The calls that clients have made since Redis started. */
export interface RedisCalls {
  /** Number of scripts and functions. Commands inside of them do not count. */
  readonly scripts: number
  /** Number of reads from a client's connection: about one for each call of any kind. */
  readonly reads: number
}

const scriptCommands = /^cmdstat_(?:eval|evalsha|fcall)(?:_ro)?:calls=(\d+)/gm

/** A Redis server for one scenario, on a port of its own. It keeps nothing on disk. */
export class RedisServer implements Disposable {
  readonly port: number
  #process: ChildProcess

  static async start(): Promise<RedisServer> {
    const port = await freePort()
    return new RedisServer(port, await startOn(port))
  }

  private constructor(port: number, process: ChildProcess) {
    this.port = port
    this.#process = process
  }

  /** Stops the server with SIGSTOP: connections stay open, and no request is answered. */
  stop(): void {
    this.#process.kill('SIGSTOP')
  }

  async kill(): Promise<void> {
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await ended
  }

  /** Starts the server again, on the same port and empty. */
  async startEmpty(): Promise<void> {
    this.#process = await startOn(this.port)
  }

  async calls(): Promise<RedisCalls> {
    const { stdout } = await promisify(execFile)('redis-cli', ['-p', String(this.port), 'info', 'everything'])
    const scripts = [...stdout.matchAll(scriptCommands)].reduce((sum, [, calls]) => sum + Number(calls), 0)
    return { scripts, reads: Number(/total_reads_processed:(\d+)/.exec(stdout)?.[1]) }
  }

  [Symbol.dispose](): void {
    this.#process.kill('SIGKILL')
  }
}

async function startOn(port: number): Promise<ChildProcess> {
  const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const server = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const failed = once(server, 'error').then(([error]) => {
    throw new Error('no redis-server here; install it with: apt-get install -y redis-server', { cause: error })
  })
  await Promise.race([ready(server), failed])
  server.stdout.resume()
  raisePriority(server)
  return server
}

async function ready(server: ChildProcess): Promise<void> {
  for await (const text of server.stdout ?? []) if (String(text).includes('Ready to accept')) return
  throw new Error('redis-server ended at its start')
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
