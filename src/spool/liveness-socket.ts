import { join } from 'node:path'
import { withoutTracing } from '../http/without-tracing.ts'
import { outsideRequests } from '../outside-requests.ts'
import { ownProperties } from '../own-properties.ts'
import { isSocketName, socketName } from './file-names.ts'
import { fs, identityOf, ownerOnly } from './node-fs.ts'

type Server = import('node:net').Server

/** A path through this directory fits into the 107 bytes of a socket address, however long the real path is. */
const openFiles = '/proc/self/fd'
/** Errors that do not show if the owner is alive. */
const unclear = new Set(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EACCES', 'EPERM'])

/**
 * A Unix domain socket on which the owner of a directory listens as long as the owner lives. The kernel closes the
 * socket when the process ends; reading the files of the directory does not. Processes in other containers that share
 * the volume can connect, too. Each socket has a random name, so no process binds or removes the socket of another.
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

  /** Returns `undefined` if the platform or the file system has no such sockets, or if no file can be opened. */
  static listen(directory: string): LivenessSocket | undefined {
    if (process.platform === 'win32') return undefined
    const name = socketName(process.getBuiltinModule('node:crypto').randomBytes(4).toString('hex'))
    const path = join(directory, name)
    const { createServer } = process.getBuiltinModule('node:net')
    const server = createServer(connection => connection.on('error', ignore).destroy())
      .on('error', ignore)
      .unref()
    try {
      // Exclusive: otherwise, in a cluster, the primary process would listen in place of its worker.
      withShortPath(directory, short => {
        outsideRequests(() => server.listen(ownProperties({ path: join(short, name), exclusive: true })))
      })
      if (!server.listening) return undefined
      fs.chmodSync(path, ownerOnly)
      return new LivenessSocket(server, path)
    } catch {
      server.close()
      remove(path)
      return undefined
    }
  }

  /**
   * True if the socket's file is still at its path.
   *
   * @throws any error from the disk if it gives no answer
   */
  get exists(): boolean {
    return this.#identity !== undefined && identityOf(this.#path) === this.#identity
  }

  close(): void {
    remove(this.#path)
    this.#server.close()
  }
}

/** True if a process listens in the directory, or if the answer is unknown now. */
export async function isOwnerAlive(directory: string): Promise<boolean> {
  try {
    for (const name of namesOfSockets(directory)) if (await isListening(directory, name)) return true
    return false
  } catch (error) {
    return isUnclear(error)
  }
}

/** Removes the sockets of owners that ended. */
export function removeDeadSockets(directory: string): void {
  for (const name of socketsIn(directory)) remove(join(directory, name))
}

/** True if the directory has the socket of its owner, or of an earlier one. */
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
  return fs.readdirSync(directory).filter(isSocketName)
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

/**
 * Calls `use` with a short path to the directory. `listen` and `connect` look the address up within that call, so the
 * descriptor behind the path can be closed afterwards.
 */
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
    // The file is gone already, or does no harm.
  }
}

function ignore(): void {}
