import { openBatchBytes, reserveStack } from '../../stack-reserve.ts'

/** The time of an event: its own timestamp as a text, or that of its log call in milliseconds since 1970. */
export type EventTime = string | number

/** Maximum number of windows. When there is one more, the oldest window ends early. */
const maxWindows = 1000

/** An event that was passed on, and its repetitions until the window ends. */
export interface RepeatWindow<Copy> {
  readonly identity: string
  /** Monotonic time, in milliseconds. */
  readonly endsAtMs: number
  readonly firstTime: EventTime
  lastTime: EventTime
  /** Number of repetitions; the first event does not count. */
  count: number
  /** The first repetition. */
  copy: Copy | undefined
  /** The window that began next; of an ended window, the next one in `EndedWindows`. */
  next: RepeatWindow<Copy> | undefined
}

/**
 * The windows of repeated events, by the identity of the events. All windows have the same length, so they end in the
 * order in which they began.
 */
export class RepeatWindows<Copy> {
  readonly #windowMs: number
  readonly #onEnd: (window: RepeatWindow<Copy>) => void
  readonly #byIdentity = new Map<string, RepeatWindow<Copy>>()
  #oldest: RepeatWindow<Copy> | undefined
  #youngest: RepeatWindow<Copy> | undefined

  /** @param onEnd called when a window ends in which an event was repeated */
  constructor(windowMs: number, onEnd: (window: RepeatWindow<Copy>) => void) {
    this.#windowMs = windowMs
    this.#onEnd = onEnd
  }

  /** Returns the window of an identity, if there is one. */
  get(identity: string): RepeatWindow<Copy> | undefined {
    return this.#byIdentity.get(identity)
  }

  /** Begins the window of an identity that has none. */
  begin(identity: string, time: EventTime, nowMs: number): void {
    if (this.#byIdentity.size >= maxWindows && this.#oldest !== undefined) this.#end(this.#oldest)
    const window = {
      identity,
      endsAtMs: nowMs + this.#windowMs,
      firstTime: time,
      lastTime: time,
      count: 0,
      copy: undefined,
      next: undefined,
    }
    this.#byIdentity.set(identity, window)
    // No calls from here on: at the end of the stack, the window begins fully or not at all.
    if (this.#youngest === undefined) this.#oldest = window
    else this.#youngest.next = window
    this.#youngest = window
  }

  /** Ends the windows whose time is up. */
  endUntil(nowMs: number): void {
    while (this.#oldest !== undefined && this.#oldest.endsAtMs <= nowMs) this.#end(this.#oldest)
  }

  /** Monotonic time at which the next window with repetitions ends, in milliseconds; `undefined` if there is none. */
  endsAtMs(): number | undefined {
    for (let window = this.#oldest; window !== undefined; window = window.next) {
      if (window.count > 0) return window.endsAtMs
    }
    return undefined
  }

  /** Ends the oldest window. */
  #end(window: RepeatWindow<Copy>): void {
    if (window.count > 0) reserveStack(2 * openBatchBytes) // for shipping its summary; repetitions must not get lost
    this.#byIdentity.delete(window.identity)
    this.#oldest = window.next
    if (window.next === undefined) this.#youngest = undefined
    window.next = undefined
    if (window.count > 0) this.#onEnd(window)
  }
}

/** Windows that have ended, oldest first. A linked list, because thousands may be taken one by one. */
export class EndedWindows<Copy> {
  count = 0
  #oldest: RepeatWindow<Copy> | undefined
  #youngest: RepeatWindow<Copy> | undefined

  /** Adds a window. Calls nothing, so that the window is added fully or not at all where the stack ends. */
  add(window: RepeatWindow<Copy>): void {
    if (this.#youngest === undefined) this.#oldest = window
    else this.#youngest.next = window
    this.#youngest = window
    this.count++
  }

  /** Removes and returns the oldest window. */
  take(): RepeatWindow<Copy> | undefined {
    const window = this.#oldest
    if (window === undefined) return undefined
    this.#oldest = window.next
    if (window.next === undefined) this.#youngest = undefined
    window.next = undefined
    this.count--
    return window
  }
}
