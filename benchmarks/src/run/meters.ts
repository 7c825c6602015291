import { openSync, readFileSync, readSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Processor time used so far, in microseconds. */
export interface ProcessorTime {
  readonly mainUs: number
  readonly processUs: number
}

/** Exact over a tenth of a second and more: many systems count it in ticks of milliseconds. */
export function processorTime(): ProcessorTime {
  return { mainUs: sum(process.threadCpuUsage()), processUs: sum(process.cpuUsage()) }
}

function sum({ user, system }: NodeJS.CpuUsage): number {
  return user + system
}

/**
 * Most memory that the process has had at one time, in bytes. Linux tells it by `VmHWM`: `maxRSS` starts there with that of
 * the process which started this one.
 */
export function peakRssBytes(): number {
  try {
    const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
    if (kilobytes !== undefined) return Number(kilobytes) * 1024
  } catch {
    // not Linux
  }
  return process.resourceUsage().maxRSS * 1024
}

const resolutionMs = 2

/** How late timers of the event loop are, in milliseconds. */
export function startLoopDelay(): () => { p99Ms: number; maxMs: number } {
  const histogram = monitorEventLoopDelay({ resolution: resolutionMs })
  histogram.enable()
  return () => {
    histogram.disable()
    const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - resolutionMs)
    return { p99Ms: late(histogram.percentile(99)), maxMs: late(histogram.max) }
  }
}

/** How long turns of the event loop take, in milliseconds. */
export interface Turns {
  readonly longestMs: number
  /** Of the turns in which anything was done. */
  readonly p99Ms: number
}

/** A turn in which nothing is done takes a few microseconds; one that takes less than this is not worth keeping. */
const minMs = 0.05

/**
 * Keeps the event loop turning, and takes the time at each turn, less what the thread waited for a processor meanwhile. It
 * takes a whole processor, so no other figure of such a run means anything.
 */
export function startWatchingTurns(): () => Turns {
  const waitedMs = waitForProcessor()
  const turnsMs: number[] = []
  let isWatching = true
  let lastMs = performance.now()
  let lastWaitedMs = waitedMs()
  const turn = () => {
    const nowMs = performance.now()
    if (nowMs - lastMs > minMs) {
      const nowWaitedMs = waitedMs()
      turnsMs.push(nowMs - lastMs - (nowWaitedMs - lastWaitedMs))
      lastWaitedMs = nowWaitedMs
    }
    lastMs = performance.now()
    if (isWatching) setImmediate(turn)
  }
  setImmediate(turn)
  return () => {
    isWatching = false
    turnsMs.sort((a, b) => b - a)
    return { longestMs: turnsMs[0] ?? 0, p99Ms: turnsMs[Math.floor(turnsMs.length / 100)] ?? 0 }
  }
}

/**
 * How long this thread has been ready to run while its processor did something else, in milliseconds. Linux tells it exactly,
 * where the time that a thread did run comes in ticks; elsewhere it is 0, and a busy machine shows in the turns.
 */
function waitForProcessor(): () => number {
  try {
    const file = openSync('/proc/thread-self/schedstat', 'r')
    const text = Buffer.alloc(128)
    return () => {
      const length = readSync(file, text, 0, text.length, 0)
      return Number(text.toString('latin1', 0, length).split(' ', 2)[1]) / 1e6
    }
  } catch {
    return () => 0
  }
}
