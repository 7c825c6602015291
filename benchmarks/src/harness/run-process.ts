import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Figures } from '../run/figures.ts'
import type { RunMessage, RunRequest } from '../run/run.ts'
import type { Load } from '../workload/load.ts'
import { benchmarksFolder, nextMessage, startChild } from './child.ts'
import type { Receiver } from './receiver-process.ts'

export type RunResult =
  | { readonly kind: 'figures'; readonly figures: Figures }
  | { readonly kind: 'not available'; readonly why: string }
  | { readonly kind: 'failed'; readonly why: string }

/** Longest run, in milliseconds: a library that never ends must not hold up the others. */
const longestRunMs = 600_000
const shownErrorLength = 2000

/** One run of a set-up in a fresh process. */
export async function runOnce(receiver: Receiver, setUp: string, load: Load): Promise<RunResult> {
  // On a disk, where /tmp may be memory.
  const results = join(benchmarksFolder, 'results')
  mkdirSync(results, { recursive: true })
  const folder = mkdtempSync(join(results, 'run-'))
  const child = startChild(new URL('../run/run.js', import.meta.url))
  let printed = ''
  child.stderr?.setEncoding('utf8').on('data', text => {
    printed = (printed + text).slice(-shownErrorLength)
  })
  child.stdout?.resume()
  try {
    child.send({ setUp, load, port: receiver.port, folder } satisfies RunRequest)
    const signal = AbortSignal.timeout(longestRunMs)
    for (;;) {
      const message = await nextMessage<RunMessage>(child, signal)
      if (message.kind !== 'ask') return message
      child.send((await receiver.ask(message.request)) as object)
    }
  } catch (error) {
    return { kind: 'failed', why: `${(error as Error).message}\n${printed}`.trim() }
  } finally {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}
