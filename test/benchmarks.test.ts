/** The counts and computations of the benchmarks, not their speed: a benchmark is never a timed test. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { commandLine, wanted } from '../benchmarks/src/command-line.ts'
import { experiments } from '../benchmarks/src/experiments/all.ts'
import type { Measured } from '../benchmarks/src/experiments/experiment.ts'
import { withOptions } from '../benchmarks/src/experiments/options.ts'
import { throughput } from '../benchmarks/src/experiments/throughput.ts'
import type { Receiver } from '../benchmarks/src/harness/receiver-process.ts'
import { measure, planned, planOf } from '../benchmarks/src/measure.ts'
import { eachNumber } from '../benchmarks/src/receiver/numbers.ts'
import { interruptedNote, type Results } from '../benchmarks/src/report/results.ts'
import { summaryOf } from '../benchmarks/src/report/statistics.ts'
import { isMet, targetsOf } from '../benchmarks/src/report/targets.ts'
import { resultsAsText } from '../benchmarks/src/report/text.ts'
import { numberField, workloadOf, workloadOfShape } from '../benchmarks/src/workload/event.ts'
import { shapeNames } from '../benchmarks/src/workload/shapes.ts'
import { runSync } from './support/run-sync.ts'

describe('the receiver', () => {
  const { event } = workloadOf(400, 'compressible')
  const numbersIn = (body: string | Buffer) => {
    const found: number[] = []
    eachNumber(Buffer.from(body as string), n => found.push(n))
    return found
  }

  it('finds the number of every event, once, in NDJSON and in an array', () => {
    const events = [0, 7, 123_456_789].map(event)
    expect(numbersIn(events.map(each => JSON.stringify(each)).join('\n'))).toEqual([0, 7, 123_456_789])
    expect(numbersIn(JSON.stringify(events))).toEqual([0, 7, 123_456_789])
  })

  it('finds the number in JSON inside a JSON string', () => {
    expect(numbersIn(JSON.stringify({ line: JSON.stringify(event(42)) }))).toEqual([42])
  })

  it.each([0, 127, 128, 300, 9_999_999])('finds %i in an attribute in protobuf', n => {
    const varint: number[] = []
    for (let left = n; varint.length === 0 || left > 0; left = Math.floor(left / 128)) {
      varint.push((left % 128) | (left >= 128 ? 128 : 0))
    }
    const keyValue = [0x0a, 0x02, ...Buffer.from(numberField), 0x12, varint.length + 1, 0x18, ...varint]
    expect(numbersIn(Buffer.from([0x0a, 0x23, ...keyValue, 0x23]))).toEqual([n])
  })
})

describe('the workload', () => {
  it.each([
    [100, 'compressible'],
    [400, 'compressible'],
    [400, 'incompressible'],
    [4096, 'compressible'],
    [102_400, 'incompressible'],
  ] as const)('has events of about %i bytes, %s', (bytes, text) => {
    const { bytes: average, event } = workloadOf(bytes, text)
    expect(average).toBeGreaterThan(bytes * 0.9)
    expect(average).toBeLessThan(bytes * 1.1)
    expect(JSON.stringify(event(5)).split('#')).toHaveLength(2)
  })

  it.each(shapeNames)('has events of the shape %s, and the receiver finds each once', name => {
    const { event } = workloadOfShape(name)
    for (let n = 0; n < 300; n++) {
      const json = JSON.stringify(event(n))
      expect(json.split('#')).toHaveLength(2)
      expect(json).toContain(`"n#":${n}`)
    }
  })

  it('has twelve fields, some nested, in an ordinary event', () => {
    const fields = Object.values(workloadOf(400, 'compressible').event(1))
    expect(fields).toHaveLength(12)
    expect(fields.filter(value => typeof value === 'object')).toHaveLength(4)
  })
})

describe('--only', () => {
  const subjects = ['no-op-winston', 'logferry-winston', 'logferry-core']

  it('chooses experiments by name and set-ups by pattern', () => {
    const isWanted = wanted(['sizes', 'logferry-*'], ['sizes', 'burst'], subjects)
    expect(isWanted('sizes', 'logferry-core')).toBe(true)
    expect(isWanted('sizes', 'no-op-winston')).toBe(false)
    expect(isWanted('burst', 'logferry-core')).toBe(false)
  })

  it('takes several values, separated by commas or one by one', () => {
    expect(commandLine(['--only', 'sizes,logferry-*', '--only', 'bare']).only).toEqual(['sizes', 'logferry-*', 'bare'])
  })

  it('refuses a pattern that matches nothing', () => {
    expect(() => wanted(['logfery-*'], ['sizes'], subjects)).toThrow("no experiment or set-up is called 'logfery-*'")
  })
})

describe('the plan', () => {
  const plan = (...args: string[]) => planOf(experiments, commandLine(args)).map(({ experiment }) => experiment.name)

  it('has all experiments, which the README lists', () => {
    expect(plan()).toEqual(experiments.map(({ name }) => name))
    const readme = readFileSync('benchmarks/README.md', 'utf8')
    for (const name of plan()) expect(readme).toContain(`\n| \`${name}\` | `)
  })

  it('has each experiment that was asked for', () => {
    expect(plan('--quick', '--only', 'pieces,cold-start')).toEqual(['pieces', 'cold-start'])
    expect(() => plan('--quick', '--only', 'pieces,burst')).toThrow('--quick measures nothing of burst')
    expect(() => plan('--only', 'pieces,burst,logferry-winston')).toThrow('none of these set-ups is in pieces')
  })

  it('measures the throughput of what ships every event, so that none counts as lost on purpose', () => {
    const subjects = throughput.cases('full').map(({ subject }) => subject)
    expect(subjects).toContain('logferry-core')
    expect(subjects.filter(name => withOptions.includes(name))).toEqual([])
  })
})

describe('npm run bench', () => {
  it.each([
    ['npm', undefined],
    ['pnpm', '/opt/pnpm/bin/pnpm.cjs'],
    ['Yarn', '/opt/yarn/bin/yarn.js'],
  ])('installs the libraries with npm, started by %s', (_, execPath) => {
    const folder = mkdtempSync(join(tmpdir(), 'logferry-bench-'))
    const written = (path: string, text: string) => {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text, { mode: 0o755 })
    }
    cpSync('benchmarks/start.js', join(folder, 'benchmarks/start.js'))
    written('package.json', '{ "type": "module" }')
    written('package-lock.json', '{}')
    written('benchmarks/package-lock.json', '{}')
    written('node_modules/.package-lock.json', '{}') // as after `npm ci --omit=dev`
    written('node_modules/node/bin/node', '#!/bin/sh\necho measured')
    written('bin/npm', '#!/bin/sh\necho npm $1 $2 in $(basename $PWD)')
    const { npm_execpath, ...env } = process.env
    const { stdout, stderr } = runSync(process.execPath, ['benchmarks/start.js'], {
      cwd: folder,
      env: { ...env, ...(execPath && { npm_execpath: execPath }), PATH: `${folder}/bin:${env.PATH}` },
    })
    expect(stderr).toMatch(/npm ci --include=dev in logferry-bench-.*npm ci --include=dev in benchmarks\n/s)
    expect(stdout).toBe('measured\n')
  })
})

describe('the report', () => {
  it('shows what is lost in few rounds, and how many rounds failed', () => {
    const figures = (lost: number) => ({ kind: 'figures', figures: { lost } }) as const
    const rounds = [figures(0), figures(16), figures(0), { kind: 'failed', why: 'the process ended' } as const]
    const rows = [{ subject: 'winston-loki', variant: '', rounds }]
    const experiment = { name: 'sizes', question: '', shows: ['lost'], charts: [], rows }
    const text = resultsAsText({ ...resultsWith({}), experiments: [experiment] })
    expect(text).toContain('0, up to 16')
    expect(text).toContain('winston-loki: 1 of 4 rounds failed: the process ended')
  })

  it('shows medians', () => {
    expect(summaryOf([3, 1, 2])).toEqual({ median: 2, least: 1, most: 3 })
    expect(summaryOf([4, 1, 2, 3])).toEqual({ median: 2.5, least: 1, most: 4 })
    expect(summaryOf([])).toBeUndefined()
  })

  it('compares only measured figures with targets', () => {
    const targets = targetsOf(resultsWith({ 'logferry-winston': 270, 'bare-winston': 300 }))
    const known = targets.filter(({ value }) => value !== undefined)
    expect(known.map(({ name, value }) => [name, value])).toEqual([
      ['Winston, no format: events/s of the bare loop', 0.9],
    ])
    expect(known.map(isMet)).toEqual([true])
  })
})

describe('an interrupted measurement', () => {
  it('reports the finished runs, without the run in progress', async () => {
    const interruption = new AbortController()
    let runs = 0
    const figures = { kind: 'figures', figures: { eventsPerSecond: 1 } } as const
    const measureOnce = async (): Promise<Measured> => {
      runs += 1
      if (runs < 4) return figures
      interruption.abort('SIGINT')
      return { kind: 'failed', why: 'the process ended by itself (SIGKILL)' }
    }
    const cases = ['a', 'b'].map(subject => ({ subject, variant: '', measure: measureOnce }))
    const rounds = { full: 2, quick: 2 }
    const experiments = ['sizes', 'burst', 'paced'].map(name => {
      return {
        name,
        question: '',
        shows: [],
        charts: [],
        rounds,
        cases: () => cases.slice(0, name === 'sizes' ? 1 : 2),
      }
    })
    const plan = planned(experiments, 'full', () => true, undefined)
    const results = await measure(plan, {} as Receiver, interruption.signal)
    expect(runs).toBe(4)
    expect(results.map(({ name, rows }) => [name, rows.map(row => row.rounds)])).toEqual([
      ['sizes', [[figures, figures]]],
      ['burst', [[figures], []]],
    ])
    expect(resultsAsText({ ...resultsWith({}), interrupted: true, experiments: results })).toContain(interruptedNote)
  })
})

function resultsWith(eventsPerSecond: Readonly<Record<string, number>>): Results {
  const rows = Object.entries(eventsPerSecond).map(([subject, value]) => ({
    subject,
    variant: '',
    rounds: [{ kind: 'figures', figures: { eventsPerSecond: value, lost: 0 } } as const],
  }))
  return {
    startedAt: '2026-11-21T00:00:00.000Z',
    command: 'npm run bench',
    version: '0.0.0',
    machine: { cpu: 'none', cores: 1, memoryGiB: 1, platform: 'none', node: '24.0.0', load: 0 },
    experiments: [{ name: 'throughput', question: '', shows: [], charts: [], rows }],
  }
}
