import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runSync } from './run-sync.ts'
import { until } from './until.ts'

const env = { PATH: `${process.env.PATH}:/usr/sbin` }

export const isNginxInstalled = runSync('nginx', ['-v'], { env }).status === 0
if (!isNginxInstalled) console.warn('skipped: no nginx here; install it with: apt-get install -y nginx-light')

export interface Nginx extends AsyncDisposable {
  readonly url: string
  /** Starts nginx again at the same address. */
  restart(): Promise<void>
  /** Kills nginx, as a crash would. */
  kill(): Promise<void>
}

export interface NginxOptions {
  /** Address of the server behind nginx. */
  readonly upstream: string
  /** Directives inside `location /`, and inside `http`. */
  readonly location?: string
  readonly http?: string
  /** Key and certificate, in PEM. */
  readonly tls?: { readonly key: string; readonly cert: string }
}

/** A real nginx in front of the service, with its files in a temporary folder. */
export async function startNginx(options: NginxOptions): Promise<Nginx> {
  const directory = mkdtempSync(join(tmpdir(), 'logferry-nginx-'))
  const port = await freePort()
  writeFileSync(join(directory, 'nginx.conf'), configuration(directory, port, options))
  for (const [name, pem] of Object.entries(options.tls ?? {})) writeFileSync(join(directory, `${name}.pem`), pem)
  let child: ChildProcess | undefined

  const restart = async (): Promise<void> => {
    const said: string[] = []
    child = spawn('nginx', ['-p', directory, '-c', join(directory, 'nginx.conf')], {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    child.stderr?.setEncoding('utf8').on('data', text => said.push(text))
    let isListening = false
    await until(() => {
      if (child?.exitCode !== null) throw new Error(`nginx has ended: ${said.join('')}`)
      if (!isListening)
        connect(port, '127.0.0.1', () => (isListening = true))
          .on('error', () => {})
          .unref()
      return isListening
    }, 'nginx listens')
  }
  const kill = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  await restart()
  return {
    url: `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    restart,
    kill,
    async [Symbol.asyncDispose]() {
      await kill()
      rmSync(directory, { recursive: true })
    },
  }
}

function configuration(
  directory: string,
  port: number,
  { upstream, location = '', http = '', tls }: NginxOptions,
): string {
  const certificate = tls ? `ssl_certificate ${directory}/cert.pem; ssl_certificate_key ${directory}/key.pem;` : ''
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `
    daemon off;
    master_process off; # one process: no user to switch to, and one to end
    pid ${directory}/pid;
    error_log ${directory}/error.log;
    events { worker_connections 256; }
    http {
      access_log off;
      ${temporary.map(name => `${name}_temp_path ${directory}/${name};`).join(' ')}
      ${http}
      server {
        listen 127.0.0.1:${port}${tls ? ' ssl' : ''};
        ${certificate}
        location / {
          proxy_pass ${upstream};
          ${location}
        }
      }
    }
  `
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
