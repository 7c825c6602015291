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

  /**
   * Resets the TCP connection of a request (RST). A TLS socket cannot send RST, so the address and port of the client
   * identify the TCP socket below it.
   */
  reset({ remoteAddress, remotePort }: Socket): void {
    for (const socket of this.#open) {
      if (socket.remotePort === remotePort && socket.remoteAddress === remoteAddress) socket.resetAndDestroy()
    }
  }

  endAll(): void {
    for (const socket of this.#open) socket.destroy()
  }
}
