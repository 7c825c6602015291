import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** The open TCP connections of a server. */
export class Connections {
  #open = new Set<Socket>()

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => {
      this.#open.add(socket)
      socket.once('close', () => this.#open.delete(socket))
    })
  }

  /** Ends the connection of a request with RST. A TLS socket cannot do that, so it is the one below that does. */
  reset({ remoteAddress, remotePort }: Socket): void {
    for (const socket of this.#open) {
      if (socket.remotePort === remotePort && socket.remoteAddress === remoteAddress) socket.resetAndDestroy()
    }
  }

  endAll(): void {
    for (const socket of this.#open) socket.destroy()
  }
}
