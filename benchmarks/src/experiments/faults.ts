/**
 * Question: of what an application logs, what arrives when the service or the application has trouble?
 * Workload: events of 400 bytes. Trouble of the service: down for 10 s while 20,000 events are logged; the first three
 *   requests answered with 429, or reset; bodies over 100 KB answered with 413; 5,000 events each, 250 every 50 ms, and the
 *   end that the library documents 5 s later. Trouble of the application: `process.exit()`, or an uncaught error, in the tick
 *   that has logged 1,500 events.
 * Excluded: speed. Libraries with compression may stay below 100 KB; a set-up that is still under way 60 s after its last
 *   log call is stopped, and what had arrived by then counts.
 * Command: npm run bench -- --only faults
 */
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Fault, startFaultyService } from '../faults/faulty-service.ts'
import type { Ending, ProgramMessage, ProgramRequest } from '../faults/program.ts'
import { benchmarksFolder, startChild } from '../harness/child.ts'
import type { Case, Experiment, Measured } from './experiment.ts'

const subjects = [
  'logferry-winston',
  'logferry-otel-processor',
  'logferry-otel-exporter',
  'axiom-winston',
  'winston-http',
  'winston-loki',
  'otlp',
  'pino-axiom',
]

interface Trouble {
  readonly fault: Fault
  readonly ending: Ending
  readonly events: number
  readonly perTurn: number
}

const steady = { ending: 'end', events: 5000, perTurn: 250 } as const
const sudden = { fault: {}, events: 1500, perTurn: 1500 } as const

const troubles: Readonly<Record<string, Trouble>> = {
  'down for 10 s': { ...steady, fault: { downMs: 10_000 }, events: 20_000, perTurn: 100 },
  '429 three times': { ...steady, fault: { throttled: 3 } },
  'reset three times': { ...steady, fault: { resets: 3 } },
  '413 over 100 KB': { ...steady, fault: { maxBodyBytes: 100_000 } },
  'process.exit()': { ...sudden, ending: 'exit' },
  'uncaught error': { ...sudden, ending: 'throw' },
}

const turnMs = 50
const restMs = 5000
/** Time after the end of the program or of its library in which events may still arrive, in milliseconds. */
const lingersMs = 3000
/** Longest run, in milliseconds: the longest time of logging, and a minute. */
const longestMs = 75_000

export const faults: Experiment = {
  name: 'faults',
  question: 'What arrives when the service or the application has trouble?',
  rounds: { full: 1, quick: 1 },
  shows: ['delivered', 'lost', 'duplicated'],
  charts: [],
  cases: extent =>
    extent === 'quick' ? [] : Object.keys(troubles).flatMap(name => subjects.map(subject => inTrouble(subject, name))),
}

function inTrouble(subject: string, name: string): Case {
  return { subject, variant: name, measure: () => run(subject, troubles[name] as Trouble) }
}

async function run(setUp: string, { fault, ending, events, perTurn }: Trouble): Promise<Measured> {
  await using service = await startFaultyService(fault, events)
  const results = join(benchmarksFolder, 'results')
  mkdirSync(results, { recursive: true })
  const folder = mkdtempSync(join(results, 'run-'))
  const child = startChild(new URL('../faults/program.js', import.meta.url))
  child.stdout?.resume()
  let complaint = ''
  child.stderr?.setEncoding('utf8').on('data', text => {
    complaint = (complaint + text).slice(-2000)
  })
  let hasLogged = false
  const ended = new Promise<void>(resolve => {
    child.on('message', (message: ProgramMessage) => {
      if (message === 'ended') return resolve()
      hasLogged = true
      service.begin()
    })
    child.on('close', () => resolve())
  })
  try {
    const { port } = service
    child.send({ setUp, port, folder, events, perTurn, turnMs, restMs, ending } satisfies ProgramRequest)
    await Promise.race([ended, pause(longestMs, undefined, { ref: false })])
    await pause(lingersMs)
    if (!hasLogged) return { kind: 'failed', why: complaint }
    const { delivered, duplicated } = await service.arrived()
    return { kind: 'figures', figures: { delivered, lost: events - delivered, duplicated } }
  } finally {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
    rmSync(folder, { recursive: true, force: true })
  }
}
