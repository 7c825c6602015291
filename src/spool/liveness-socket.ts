import { join } from 'node:path'
import { withoutTracing } from '../http/without-tracing.ts'
import { fs, identityOf, ownerOnly } from './node-fs.ts'

type Server = import('node:net').Server

/** Ends the names of these sockets. */
const ending = '.alive'
/** By this way a path of any length fits into the 107 bytes that the address of a socket may have. */
const openFiles = '/proc/self/fd'
/** Errors that say nothing of the owner. */
const unclear = new Set(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EACCES', 'EPERM'])

/**
 * A Unix domain socket in a directory, on which its owner listens as long as it lives: the kernel undoes that, and no reading
 * of files can. Processes in containers that share a volume reach it as well. Each has a name of its own, so that none is
 * ever bound to, or removed, in place of another.
 */
export class LivenessSocket {
  readonly #server: Server
  readonly #path: string
  readonly #identity: string | undefined

  private constructor(server: Server, path: string) {
    this.#server = server
    this.#path = path
    this.#identity = identityOf(path)
  }

  /** `undefined` where the platform or the file system has no such sockets, or no file may be opened. */
  static listen(directory: string): LivenessSocket | undefined {
    if (process.platform === 'win32') return undefined
    const name = `${process.getBuiltinModule('node:crypto').randomBytes(4).toString('hex')}${ending}`
    const path = join(directory, name)
    const { createServer } = process.getBuiltinModule('node:net')
    const server = createServer(connection => connection.on('error', ignore).destroy())
      .on('error', ignore)
      .unref()
    try {
      // Exclusive, as otherwise the primary process of a cluster would listen in place of its worker.
      withShortPath(directory, short => server.listen({ path: join(short, name), exclusive: true }))
      if (!server.listening) return undefined
      fs.chmodSync(path, ownerOnly)
      return new LivenessSocket(server, path)
    } catch {
      server.close()
      remove(path)
      return undefined
    }
  }

  /** @throws what the disk throws if it cannot tell */
  get isThere(): boolean {
    return this.#identity !== undefined && identityOf(this.#path) === this.#identity
  }

  close(): void {
    remove(this.#path)
    this.#server.close()
  }
}

/** True if a process listens in that directory, or if that cannot be told now. */
export async function isOwnerAlive(directory: string): Promise<boolean> {
  try {
    for (const name of namesOfSockets(directory)) if (await isListening(directory, name)) return true
    return false
  } catch (error) {
    return isUnclear(error)
  }
}

/** Removes what owners that are no more have left. */
export function removeDeadSockets(directory: string): void {
  for (const name of socketsIn(directory)) remove(join(directory, name))
}

/** True if the owner of a directory listens in it, or a former one has. */
export function hasSocket(directory: string): boolean {
  return socketsIn(directory).length > 0
}

function socketsIn(directory: string): string[] {
  try {
    return namesOfSockets(directory)
  } catch {
    return []
  }
}

function namesOfSockets(directory: string): string[] {
  return fs.readdirSync(directory).filter(name => name.endsWith(ending))
}

function isListening(directory: string, name: string): Promise<boolean> {
  const { connect } = process.getBuiltinModule('node:net')
  return new Promise(resolve => {
    try {
      withShortPath(directory, short => {
        const socket = withoutTracing(() => connect({ path: join(short, name) })).unref()
        socket.on('connect', () => {
          socket.destroy()
          resolve(true)
        })
        socket.on('error', error => resolve(isUnclear(error)))
      })
    } catch (error) {
      resolve(isUnclear(error))
    }
  })
}

/** The address is looked up within the call, so that the way to it is needed no longer. */
function withShortPath(directory: string, use: (short: string) => void): void {
  if (!fs.existsSync(openFiles)) return use(directory)
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = fs.constants
  const open = fs.openSync(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  try {
    use(`${openFiles}/${open}`)
  } finally {
    fs.closeSync(open)
  }
}

function isUnclear(error: unknown): boolean {
  return unclear.has((error as NodeJS.ErrnoException).code ?? '')
}

function remove(path: string): void {
  try {
    fs.unlinkSync(path)
  } catch {
    // It is gone already, or does no harm.
  }
}

function ignore(): void {}
