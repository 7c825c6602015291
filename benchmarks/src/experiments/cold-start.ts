/**
 * Question: what does it cost to load the package, how soon is the first event delivered, and what does a script of ten log
 *   calls pay?
 * Workload: programs of a few lines (cold-start/scripts.ts), each run in a fresh process, as a user runs them: import of each
 *   entry point, with its time and the number of files it loads; one event delivered; ten events and the natural end.
 * Excluded: nothing of the process where `wallMs` stands: it is the time from its start to its end. The other figures leave
 *   out Node's own start.
 * Command: npm run bench -- --only cold-start
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import {
  firstDeliveryScript,
  importScript,
  logferryTransport,
  modulesScript,
  noOpTransport,
  tenCallsScript,
} from '../cold-start/scripts.ts'
import { benchmarksFolder, cleanEnvironment, registered } from '../harness/child.ts'
import type { Receiver } from '../harness/receiver-process.ts'
import type { Case, Experiment, Measured } from './experiment.ts'

/** The package's folder, where `logferry/winston` is found by its name. */
const packageFolder = fileURLToPath(new URL('../../../', import.meta.url))

const telling: readonly Case[] = [
  imported('winston'),
  imported('logferry/winston', 'winston'),
  program('first event, logferry/winston', firstDeliveryScript),
  program('ten log calls, no-op transport', tenCallsScript(noOpTransport)),
  program('ten log calls, logferry/winston', tenCallsScript(logferryTransport)),
]

const others: readonly Case[] = [
  imported('logferry'),
  imported('logferry/winston'),
  imported('logferry/otel'),
  imported('logferry/org'),
  imported('logferry/emulator'),
  imported('undici'),
  imported('@axiomhq/winston', 'winston', benchmarksFolder),
  imported('winston-loki', 'winston', benchmarksFolder),
  imported('@opentelemetry/exporter-logs-otlp-proto', undefined, benchmarksFolder),
]

export const coldStart: Experiment = {
  name: 'cold-start',
  question: 'What does it cost to load, to deliver a first event, to log ten times and end?',
  rounds: { full: 21, quick: 7 },
  shows: ['importMs', 'modules', 'deliveryMs', 'longestTurnMs', 'wallMs'],
  charts: ['importMs', 'wallMs'],
  cases: extent => (extent === 'quick' ? telling : [...telling, ...others]),
}

function imported(specifier: string, before?: string, folder = packageFolder): Case {
  return {
    subject: `import ${specifier}`,
    variant: before === undefined ? '' : `after ${before}`,
    async measure(receiver) {
      // Counting the files slows the loading of them, so it has a process of its own.
      const timed = await ran(importScript(specifier, before), folder, receiver)
      const counted = await ran(modulesScript(specifier, before), folder, receiver)
      if (timed.kind !== 'figures' || counted.kind !== 'figures') return timed.kind === 'figures' ? counted : timed
      const { importMs = 0 } = timed.figures
      const { modules = 0 } = counted.figures
      return { kind: 'figures', figures: { importMs, modules } }
    },
  }
}

function program(subject: string, source: string): Case {
  return { subject, variant: '', measure: receiver => ran(source, packageFolder, receiver) }
}

async function ran(source: string, folder: string, { port }: Receiver): Promise<Measured> {
  const startedAtMs = performance.now()
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
    cwd: folder,
    env: {
      ...cleanEnvironment(),
      LOGFERRY_URL: `http://127.0.0.1:${port}`,
      LOGFERRY_TOKEN: 'benchmark',
      LOGFERRY_DATASET: 'benchmark',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  registered(child)
  let printed = ''
  let complaint = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    printed += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    complaint += text
  })
  const exited = once(child, 'exit').then(([code]) => ({ code, wallMs: performance.now() - startedAtMs }))
  await once(child, 'close')
  const { code, wallMs } = await exited
  if (code !== 0) return { kind: 'failed', why: complaint }
  return { kind: 'figures', figures: printed === '' ? { wallMs } : JSON.parse(printed) }
}
