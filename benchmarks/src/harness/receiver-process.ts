import type { ReceiverRequest } from '../receiver/receiver.ts'
import { nextMessage, startChild } from './child.ts'

/** The receiver, running. */
export interface Receiver extends Disposable {
  readonly port: number
  ask(request: ReceiverRequest): Promise<unknown>
}

export async function startReceiver(): Promise<Receiver> {
  const child = startChild(new URL('../receiver/receiver.js', import.meta.url))
  child.stderr?.pipe(process.stderr)
  const { port } = await nextMessage<{ port: number }>(child)
  return {
    port,
    ask(request) {
      const answer = nextMessage(child)
      child.send(request)
      return answer
    },
    [Symbol.dispose]: () => void child.kill(),
  }
}
