/**
 * Many processes, each with an endless backlog, and one service that limits their requests, on a virtual clock. The
 * parts of the product are real (`RateLimiter`, `Breaker`, and the parts that tests add). The network and the timers
 * are not.
 */
import { setImmediate } from 'node:timers/promises'
import { vi } from 'vitest'
import type { BatchLoad } from '../../src/delivery/batch-tuning.ts'
import { Breaker } from '../../src/delivery/breaker.ts'
import { Demand } from '../../src/delivery/demand.ts'
import { type PacedAnswer, RateLimiter } from '../../src/delivery/rate-limiter.ts'

/** Returns a generator of numbers from 0 to 1, the same ones each time (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

interface Due {
  readonly atMs: number
  readonly run: () => void
  isCancelled: boolean
}

/** Runs due functions in the order of their times: a binary heap. */
export class VirtualClock {
  nowMs = 0
  readonly #heap: Due[] = []

  after(ms: number, run: () => void): Due {
    const due = { atMs: this.nowMs + Math.max(ms, 0), run, isCancelled: false }
    const heap = this.#heap
    let index = heap.push(due) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if ((heap[parent] as Due).atMs <= due.atMs) break
      heap[index] = heap[parent] as Due
      index = parent
    }
    heap[index] = due
    return due
  }

  /** @param settles true if functions wait for promises, which then continue after each step */
  async runUntil(untilMs: number, settles = false): Promise<void> {
    for (let due = this.#heap[0]; due !== undefined && due.atMs <= untilMs; due = this.#heap[0]) {
      this.#removeFirst()
      this.nowMs = due.atMs
      if (due.isCancelled) continue
      due.run()
      if (settles) await setImmediate()
    }
    this.nowMs = untilMs
  }

  #removeFirst(): void {
    const heap = this.#heap
    const last = heap.pop() as Due
    if (heap.length === 0) return
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child + 1 < heap.length && (heap[child + 1] as Due).atMs < (heap[child] as Due).atMs) child++
      if (child >= heap.length || (heap[child] as Due).atMs >= last.atMs) break
      heap[index] = heap[child] as Due
      index = child
    }
    heap[index] = last
  }
}

/** Start of the virtual clock, in milliseconds since 1970. */
export const startMs = 1.7e12

/** Replaces both of Node's clocks and the timers by the clock, for code that runs unchanged. */
export function stubTime(clock: VirtualClock): void {
  vi.stubGlobal('performance', { now: () => clock.nowMs })
  class VirtualDate extends Date {
    static override now(): number {
      return startMs + clock.nowMs
    }
  }
  vi.stubGlobal('Date', VirtualDate)
  vi.stubGlobal('setTimeout', (run: () => void, ms: number) => ({ due: clock.after(ms, run), unref: returnThis }))
  vi.stubGlobal('setInterval', (run: () => void, ms: number) => {
    const timer = { due: clock.after(ms, again), unref: returnThis }
    function again(): void {
      timer.due = clock.after(ms, again)
      run()
    }
    return timer
  })
  const clear = (timer: { due: Due } | undefined) => {
    if (timer !== undefined) timer.due.isCancelled = true
  }
  vi.stubGlobal('clearTimeout', clear)
  vi.stubGlobal('clearInterval', clear)
}

function returnThis<T>(this: T): T {
  return this
}

/** A service's limit on requests: the decision about one request, and the room that is left. */
export type Limiter = (nowMs: number) => { readonly admitted: boolean; readonly remaining: number }

/** Counts in the seconds of the clock. Refused requests take no room. */
export function fixedWindow(limitPerSecond: number): Limiter {
  let second = -1
  let taken = 0
  return nowMs => {
    if (Math.floor(nowMs / 1000) !== second) {
      second = Math.floor(nowMs / 1000)
      taken = 0
    }
    const admitted = taken < limitPerSecond
    if (admitted) taken++
    return { admitted, remaining: limitPerSecond - taken }
  }
}

/** A bucket with the tokens of one second, which refills evenly. */
export function tokenBucket(limitPerSecond: number): Limiter {
  let tokens = limitPerSecond
  let atMs = 0
  return nowMs => {
    tokens = Math.min(limitPerSecond, tokens + ((nowMs - atMs) / 1000) * limitPerSecond)
    atMs = nowMs
    const admitted = tokens >= 1
    if (admitted) tokens--
    return { admitted, remaining: Math.floor(tokens) }
  }
}

export interface ServiceSettings {
  readonly limitPerSecond: number
  readonly limiter?: (limitPerSecond: number) => Limiter
  /** True if answers have rate-limit headers. */
  readonly tellsRemaining?: boolean
  /** The `Retry-After` of its 429s, in milliseconds. */
  readonly retryAfterMs?: number | undefined
}

/** A service with a limit. It counts the accepted and the refused requests of each second. */
export class Service {
  readonly licensePerSecond: number
  limitPerSecond: number
  readonly taken: number[] = []
  readonly refused: number[] = []
  readonly #makeLimiter: (limitPerSecond: number) => Limiter
  #limiter: Limiter
  readonly #tellsRemaining: boolean
  readonly #retryAfterMs: number | undefined
  #refusesUntilMs = 0

  constructor(settings: ServiceSettings) {
    const { limitPerSecond, limiter = fixedWindow, tellsRemaining = true } = settings
    this.licensePerSecond = limitPerSecond
    this.limitPerSecond = limitPerSecond
    this.#makeLimiter = limiter
    this.#limiter = limiter(limitPerSecond)
    this.#tellsRemaining = tellsRemaining
    this.#retryAfterMs = 'retryAfterMs' in settings ? settings.retryAfterMs : 1000
  }

  /** A limit other than the license's. The headers of the answers show it. */
  setLimit(limitPerSecond: number): void {
    this.limitPerSecond = limitPerSecond
    this.#limiter = this.#makeLimiter(limitPerSecond)
  }

  /** Refuses every request up to that time, as in an outage that has no other sign. */
  refuseAllUntil(atMs: number): void {
    this.#refusesUntilMs = atMs
  }

  answer(nowMs: number): PacedAnswer {
    const isRefusing = nowMs < this.#refusesUntilMs
    const { admitted, remaining } = isRefusing ? { admitted: false, remaining: 0 } : this.#limiter(nowMs)
    const counts = admitted ? this.taken : this.refused
    const second = Math.floor(nowMs / 1000)
    counts[second] = (counts[second] ?? 0) + 1
    const retryAfterMs = admitted ? undefined : this.#retryAfterMs
    return {
      throttled: !admitted,
      retryAfterMs,
      ...(this.#tellsRemaining && { limit: this.limitPerSecond, limitPerSecond: this.limitPerSecond, remaining }),
    }
  }

  /** Returns the share of the limit in use, from one second to another. */
  utilisation(fromSecond: number, toSecond: number, limitPerSecond = this.limitPerSecond): number {
    return sum(this.taken, fromSecond, toSecond) / (limitPerSecond * (toSecond - fromSecond))
  }

  /** Returns the share of the requests that was refused. */
  rejected(fromSecond: number, toSecond: number): number {
    const refused = sum(this.refused, fromSecond, toSecond)
    return refused / (refused + sum(this.taken, fromSecond, toSecond))
  }
}

function sum(counts: readonly number[], from: number, to: number): number {
  let total = 0
  for (let second = from; second < to; second++) total += counts[second] ?? 0
  return total
}

/**
 * One process. It sends as delivery does, four requests at a time, as soon as its rate limiter and its breaker allow.
 * With a demand of its own, it has something to send again some time after each request.
 */
export class Client {
  readonly pace: RateLimiter
  readonly startedMs: number
  readonly startsMs: number[] = []
  /** The time that each request had to wait before it started. */
  readonly waitsMs: number[] = []
  readonly demand: Demand
  /** Minimum and maximum delay of timers, in milliseconds. */
  timersAreLateMs: readonly [number, number] = [0, 2]
  /** Returns for how long the event loop is blocked from a time on, in milliseconds. */
  blockedMs = (_atMs: number): number => 0
  /** Called after each answer. */
  onAnswered = (): void => {}
  /** Called while the process has something to send and has made no request. */
  onFirstWaiting = (): void => {}
  /** Called when the limit becomes known. */
  onLimit = (): void => {}
  /** Called when the process ends. */
  onStopped = (): void => {}
  successes = 0
  refusals = 0
  /** Time from the start of the process to its first accepted request; `Infinity` before it. */
  firstWaitMs = Number.POSITIVE_INFINITY
  #lastSuccessMs: number
  #longestGapMs = 0
  #isStopped = false
  #inFlight = 0
  #wakeMs = Number.POSITIVE_INFINITY
  #workFromMs = 0
  readonly #demandPerSecond: number
  readonly #breaker: Breaker
  readonly #clock: VirtualClock
  readonly #service: Service
  readonly #random: () => number

  /** @param idleMs time until the process has something to send; by default a part of the time between two of its requests */
  constructor(
    clock: VirtualClock,
    service: Service,
    random: () => number,
    demandPerSecond = Number.POSITIVE_INFINITY,
    idleMs?: number,
  ) {
    const limits = {
      maxBatchBytes: 1e6,
      batchBytesCeiling: 4e6,
      maxUnlimitedBytes: 4e6,
      maxBatchEvents: 1000,
      maxBatchAgeMs: 1000,
    }
    this.demand = new Demand(
      { limits, load: () => this.#load() },
      () => this.startsMs.length,
      nowMs => this.pace.inForce(nowMs).requestsPerSecond,
    )
    this.#demandPerSecond = demandPerSecond
    this.#clock = clock
    this.#service = service
    this.#random = random
    this.#breaker = new Breaker(30_000, random)
    this.pace = new RateLimiter(random)
    this.startedMs = clock.nowMs
    this.#workFromMs = this.startedMs + (idleMs ?? this.#pauseMs(0))
    this.#lastSuccessMs = clock.nowMs
  }

  /** True if the process always has something to send. */
  get isHeavy(): boolean {
    return this.#demandPerSecond === Number.POSITIVE_INFINITY
  }

  get isActive(): boolean {
    return !this.#isStopped
  }

  get isWaiting(): boolean {
    return this.#clock.nowMs >= this.#workFromMs
  }

  readonly pump = (): void => this.#pump(this.#wakeMs)

  /** @param wantedMs time since which this call was due; earlier than now if a timer is late */
  #pump(wantedMs: number): void {
    const { nowMs } = this.#clock
    const sinceMs = Math.min(nowMs, wantedMs)
    if (!this.isWaiting) {
      if (nowMs >= this.#notBeforeMs(nowMs, sinceMs)) this.pace.onIdle()
      return this.#wakeAt(this.#workFromMs)
    }
    if (!this.pace.hasStarted) this.onFirstWaiting()
    while (this.#inFlight < 4 && !this.#isStopped) {
      const notBeforeMs = this.#notBeforeMs(nowMs, sinceMs)
      if (nowMs < notBeforeMs || !this.isWaiting) return this.#wakeAt(notBeforeMs)
      this.#send(nowMs, sinceMs)
    }
  }

  #notBeforeMs(nowMs: number, sinceMs: number): number {
    return Math.max(this.#breaker.notBeforeMs, this.pace.notBeforeMs(nowMs, sinceMs))
  }

  /** Returns the time until the process has something to send again: up to 1.5 times the mean. */
  #pauseMs(minPart: number): number {
    if (this.isHeavy) return 0
    return (1000 / this.#demandPerSecond) * (minPart + (1.5 - minPart) * this.#random())
  }

  /** An event each time that the process has something to send, or a million events a second. */
  #load(): BatchLoad {
    const waitingEvents = this.isHeavy ? 100_000 : Number(this.isWaiting)
    const addedEvents = this.isHeavy
      ? (this.#clock.nowMs - this.startedMs) * 1000
      : this.startsMs.length + waitingEvents
    return { addedEvents, addedBytes: addedEvents, waitingEvents, waitingBytes: waitingEvents, datasets: 1 }
  }

  stop(): void {
    this.#noteGap(this.#clock.nowMs)
    this.#isStopped = true
    this.onStopped()
  }

  /** Returns the longest time between two successes, including the time to the first and since the last. */
  longestGapMs(): number {
    if (!this.#isStopped) this.#noteGap(this.#clock.nowMs)
    return this.#longestGapMs
  }

  #send(nowMs: number, sinceMs: number): void {
    this.#inFlight++
    this.pace.onStart(nowMs, sinceMs)
    this.startsMs.push(nowMs)
    this.waitsMs.push(nowMs - Math.max(this.#workFromMs, this.startedMs))
    this.#workFromMs = nowMs + this.#pauseMs(0.5)
    this.#clock.after(this.#latencyMs(), () => {
      const answer = this.#service.answer(this.#clock.nowMs)
      const backMs = this.#latencyMs()
      this.#clock.after(backMs + this.blockedMs(this.#clock.nowMs + backMs), () => this.#receive(answer, nowMs))
    })
  }

  #receive(answer: ReturnType<Service['answer']>, startedMs: number): void {
    const { nowMs } = this.#clock
    this.#inFlight--
    this.pace.onAnswer(nowMs, answer, startedMs)
    this.onAnswered()
    if (answer.throttled) {
      this.refusals++
    } else {
      this.#breaker.onAnswered()
      this.#noteGap(nowMs)
      this.#lastSuccessMs = nowMs
      if (this.successes++ === 0) this.firstWaitMs = nowMs - this.startedMs
    }
    this.pump()
  }

  /** Blocks the event loop again and again: once a second, for a time between these, in milliseconds. */
  blockEverySecond(minMs: number, maxMs: number): void {
    const blocks: { readonly fromMs: number; readonly untilMs: number }[] = []
    this.blockedMs = atMs => {
      const second = Math.floor(atMs / 1000)
      const ms = minMs + (maxMs - minMs) * this.#random()
      const fromMs = second * 1000 + (1000 - ms) * this.#random()
      blocks[second] ??= { fromMs, untilMs: fromMs + ms }
      const block = blocks[second]
      return atMs >= block.fromMs ? Math.max(block.untilMs - atMs, 0) : 0
    }
  }

  #noteGap(nowMs: number): void {
    this.#longestGapMs = Math.max(this.#longestGapMs, nowMs - this.#lastSuccessMs)
  }

  #wakeAt(atMs: number): void {
    if (this.#isStopped || atMs >= this.#wakeMs) return
    this.#wakeMs = atMs
    const [minMs, maxMs] = this.timersAreLateMs
    const lateMs = minMs + (maxMs - minMs) * this.#random()
    const dueMs = Math.ceil(atMs - this.#clock.nowMs) + lateMs
    this.#clock.after(dueMs + this.blockedMs(this.#clock.nowMs + dueMs), () => {
      if (this.#wakeMs !== atMs) return
      this.#wakeMs = Number.POSITIVE_INFINITY
      this.#pump(atMs)
    })
  }

  #latencyMs(): number {
    return 5 + 20 * this.#random()
  }
}
