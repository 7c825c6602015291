import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'

/** A server below HTTP, for answers that no HTTP server would give. */
export interface RawServer {
  readonly url: string
  readonly sockets: readonly Socket[]
  /** The bytes that each connection has sent, as text. */
  readonly heard: readonly string[]
  close(): Promise<void>
}

export async function startRawServer(
  onData: (socket: Socket, heardSoFar: string, index: number) => void,
): Promise<RawServer> {
  const sockets: Socket[] = []
  const heard: string[] = []
  const server: Server = createServer(socket => {
    const index = sockets.push(socket) - 1
    heard[index] = ''
    socket.on('error', () => {})
    socket.on('data', data => {
      heard[index] += data.toString('latin1')
      onData(socket, heard[index] as string, index)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sockets,
    heard,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
