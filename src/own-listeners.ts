import { EventEmitter } from 'node:events'

type Listener = (...values: never[]) => void

/**
 * Marks the listeners of every copy of this package in the process. They do not count as handlers of the application.
 */
const ours = Symbol.for('logferry.listener')

export function isOurs(listener: object): boolean {
  return ours in listener
}

/** Adds a listener to the process, after all others. */
export function appendListener(name: string, listener: Listener): void {
  makeRoom(name)
  process.on(name as 'exit', marked(listener))
}

/** Adds a listener to the process, before all others. */
export function prependListener(name: string, listener: Listener): void {
  makeRoom(name)
  process.prependListener(name as 'exit', marked(listener))
}

function marked(listener: Listener): () => void {
  return Object.assign(listener as () => void, { [ours]: true })
}

/**
 * Makes room for one more listener of ours. Node takes more than ten listeners for a leak, and warns. But a process may
 * have many copies of this package: Jest's `resetModules` and bundles load it again and again. The application keeps
 * the room that it has without this package, so a leak of its own still causes the warning.
 */
function makeRoom(name: string): void {
  const maxListeners = process.getMaxListeners()
  if (maxListeners === 0 || process.listenerCount(name) < maxListeners) return
  const listeners = process.listeners(name as 'exit')
  const ownCount = listeners.filter(isOurs).length
  if (listeners.length - ownCount >= EventEmitter.defaultMaxListeners) return
  process.setMaxListeners(EventEmitter.defaultMaxListeners + ownCount + 1)
}
