import type { LookupAddress } from 'node:dns'
import type { LookupFunction, Socket, TcpNetConnectOpts } from 'node:net'
import { monotonicMs } from '../time.ts'
import { deadline } from '../time-limits.ts'

type LookupCallback = Parameters<LookupFunction>[2]

/** Maximum time for one of several addresses, in milliseconds: to accept a connection, and to begin the first answer. */
const maxAttemptMs = 4000
/**
 * Time for which connections join a lookup that has begun, in milliseconds. A function that the application has put in the
 * place of Node's may never return.
 */
const maxLookupMs = 60_000
/** Time after which a connection begins with the first address again, in milliseconds. */
const preferredForMs = 600_000

/**
 * Chooses the address of a host to begin with, and the time for each of its addresses.
 *
 * Node tries one address after the other, and gives each 250 ms; only the last one has more time. Every connection
 * starts alike. So Node never reaches a distant host whose last address is dead, for example an IPv6 address without a
 * route. Nor does Node reach a good address after forty dead ones.
 *
 * Here, once an address has failed, connections begin with the address that was tried last. So a good address is soon the
 * first or the last one. After ten minutes, and as long as none fails, the order is that of the name service, which may
 * spread the load. The time doubles if an address needs more, and starts again after the maximum. A connection that
 * succeeds sets the time to twice its own.
 *
 * Node tries the next address only if one accepts no connection. An address may accept connections and yet be of no
 * use: its server hangs, or larger packets to it are lost. So the first request of a connection must have an answer
 * within 4 seconds, and before the connection closes. Otherwise the next connections begin with the next address.
 *
 * A lookup takes a thread of Node's pool, which the application needs for lookups of its own. So there is one at a time.
 * Connections that start meanwhile join it, even if it takes longer than each of them may wait.
 *
 * Node connects to a proxy without these options: in the order of the name service, with 250 ms for each address.
 */
export class AddressChoice {
  readonly #nowMs: () => number
  #attemptMs = usualAttemptMs()
  #preferred: string | undefined
  /** Time until which connections begin with that address. */
  #preferredUntilMs = 0
  /** The addresses of the host as last found. */
  #found: readonly LookupAddress[] = []
  /** The lookup that is being made. */
  #lookingUp: { readonly sinceMs: number; readonly callbacks: LookupCallback[] } | undefined

  /** @param nowMs returns a monotonic time, in milliseconds */
  constructor(nowMs: () => number = monotonicMs) {
    this.#nowMs = nowMs
  }

  /** Time for each address, in milliseconds. */
  get attemptMs(): number {
    return this.#attemptMs
  }

  /** The address to begin with; `undefined` to keep the order of the name service. */
  get firstAddress(): string | undefined {
    return this.#nowMs() < this.#preferredUntilMs ? this.#preferred : undefined
  }

  /** True while the name service has not answered. */
  get isLookingUp(): boolean {
    return this.#lookingUp !== undefined
  }

  /**
   * The options of the next connection. Node tries every address, although the application may have turned that off
   * because of the 250 ms.
   */
  get options(): Pick<TcpNetConnectOpts, 'autoSelectFamily' | 'autoSelectFamilyAttemptTimeout' | 'lookup'> {
    return { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: this.#attemptMs, lookup: this.#lookup }
  }

  /**
   * Notes how a connection fares that has just been started.
   *
   * @returns a function to call when the first request over it has an answer
   */
  watch(socket: Socket): () => void {
    const attemptMs = this.#attemptMs
    let startedAtMs = this.#nowMs()
    let attempts = 0
    let address: string | undefined
    let stopClock: (() => void) | undefined
    const tryNext = (): void => {
      stopClock?.()
      stopClock = undefined
      this.#tryAnotherThan(address)
    }
    socket.on('connectionAttempt', tried => {
      startedAtMs = this.#nowMs()
      address = tried
      if (++attempts > 1) this.#prefer(tried)
    })
    socket.on('connectionAttemptTimeout', () => {
      this.#attemptMs = attemptMs * 2 <= maxAttemptMs ? attemptMs * 2 : usualAttemptMs()
    })
    socket.once('connect', () => {
      const twiceMs = Math.ceil((this.#nowMs() - startedAtMs) * 2)
      this.#attemptMs = Math.max(Math.min(twiceMs, maxAttemptMs), usualAttemptMs())
      if (this.#found.length < 2) return
      stopClock = deadline(maxAttemptMs, tryNext, { keepsAlive: false })
      socket.once('close', tryNext)
    })
    return () => {
      stopClock?.()
      socket.off('close', tryNext)
    }
  }

  #prefer(address: string): void {
    this.#preferred = address
    this.#preferredUntilMs = this.#nowMs() + preferredForMs
  }

  #tryAnotherThan(address: string | undefined): void {
    const at = this.#found.findIndex(one => one.address === address)
    const next = this.#found[(at + 1) % this.#found.length]
    if (at >= 0 && next !== undefined) this.#prefer(next.address)
  }

  readonly #lookup: LookupFunction = (hostname, options, callback) => {
    const nowMs = this.#nowMs()
    if (this.#lookingUp !== undefined && nowMs - this.#lookingUp.sinceMs < maxLookupMs) {
      this.#lookingUp.callbacks.push(callback)
      return
    }
    const started = { sinceMs: nowMs, callbacks: [callback] }
    this.#lookingUp = started
    const answer: LookupCallback = (error, found, family) => {
      if (this.#lookingUp === started) this.#lookingUp = undefined
      if (Array.isArray(found)) this.#found = found
      const ordered = Array.isArray(found) ? this.#ordered(found) : found
      for (const one of started.callbacks.splice(0)) one(error, ordered, family)
    }
    try {
      process.getBuiltinModule('node:dns').lookup(hostname, options, answer)
    } catch (error) {
      answer(error as NodeJS.ErrnoException, []) // a function that the application has put in the place of Node's threw
    }
  }

  #ordered(found: readonly LookupAddress[]): LookupAddress[] {
    const first = found.findIndex(({ address }) => address === this.firstAddress)
    return [...found.slice(Math.max(first, 0)), ...found.slice(0, Math.max(first, 0))]
  }
}

/** True if no address of a host was reached, and one of them needed more time. */
export function neededMoreTime(error: Error): boolean {
  return error instanceof AggregateError && error.errors.some(({ code }) => code === 'ETIMEDOUT')
}

/** Returns the time that Node gives an address by default: 250 ms, unless the application has changed it. */
function usualAttemptMs(): number {
  return process.getBuiltinModule('node:net').getDefaultAutoSelectFamilyAttemptTimeout()
}
