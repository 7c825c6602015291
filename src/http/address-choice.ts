import type { LookupFunction, Socket } from 'node:net'
import { monotonicMs } from '../time.ts'

/** Maximum time for one of several addresses, in milliseconds. */
const maxAttemptMs = 4000
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
 * Node connects to a proxy without these options: in the order of the name service, with 250 ms for each address.
 */
export class AddressChoice {
  readonly #nowMs: () => number
  #attemptMs = usualAttemptMs()
  #lastTried: string | undefined
  /** Time until which connections begin with the address that was tried last. */
  #preferredUntilMs = 0

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
    return this.#nowMs() < this.#preferredUntilMs ? this.#lastTried : undefined
  }

  /** The options of the next connection. */
  get options(): { readonly autoSelectFamilyAttemptTimeout: number; readonly lookup: LookupFunction } {
    return { autoSelectFamilyAttemptTimeout: this.#attemptMs, lookup: this.#lookup }
  }

  /** Notes how a connection fares that has just been started. */
  watch(socket: Socket): void {
    const attemptMs = this.#attemptMs
    let startedAtMs = this.#nowMs()
    let attempts = 0
    socket.on('connectionAttempt', address => {
      startedAtMs = this.#nowMs()
      if (++attempts === 1) return
      this.#lastTried = address
      this.#preferredUntilMs = startedAtMs + preferredForMs
    })
    socket.on('connectionAttemptTimeout', () => {
      this.#attemptMs = attemptMs * 2 <= maxAttemptMs ? attemptMs * 2 : usualAttemptMs()
    })
    socket.once('connect', () => {
      const twiceMs = Math.ceil((this.#nowMs() - startedAtMs) * 2)
      this.#attemptMs = Math.max(Math.min(twiceMs, maxAttemptMs), usualAttemptMs())
    })
  }

  readonly #lookup: LookupFunction = (hostname, options, callback) => {
    process.getBuiltinModule('node:dns').lookup(hostname, options, (error, found, family) => {
      if (!Array.isArray(found)) return callback(error, found, family)
      const first = found.findIndex(({ address }) => address === this.firstAddress)
      callback(error, first > 0 ? [...found.slice(first), ...found.slice(0, first)] : found)
    })
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
