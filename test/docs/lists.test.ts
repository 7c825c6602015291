/** Lists in the documentation that have their source in the code: neither has an entry that the other lacks. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { root } from '../../docs/pages.ts'
import { diagnosticNames } from '../../src/accounting/diagnostics.ts'
import { dropReasons } from '../../src/accounting/drop-reasons.ts'
import { allChecks } from '../../src/cli/checks/all-checks.ts'
import { commands } from '../../src/cli/commands.ts'
import { faultKinds } from '../../src/dev/protocol.ts'
import { isInTrouble, isRetryable, isThrottled } from '../../src/http/statuses.ts'
import { createShipper } from '../../src/index.ts'
import type { Meter, MeterProvider } from '../../src/options/meter-provider.ts'
import { headingsOf, sourceOf } from './markdown.ts'

const code = (file: string) => readFileSync(`${root}src/${file}`, 'utf8')

/** Returns the texts in quotes of a union of texts. */
function unionOf(file: string, name: string): string[] {
  const [, body = ''] = new RegExp(`export type ${name} =\\n(.*?)\\n\\n`, 's').exec(code(file)) ?? []
  return [...body.matchAll(/^ {2}\| '(.+)'$/gm)].map(([, text = '']) => text)
}

/** Returns the cells of the tables of a page, row by row, without the heads. */
function rowsOf(page: string, underHeading: string): string[][] {
  const section =
    sourceOf(page)
      .split(/^(?=#+ )/m)
      .find(text => text.startsWith(underHeading)) ?? ''
  const lines = section.split('\n').filter(line => line.startsWith('|'))
  return lines
    .filter((line, index) => !/^\|[-|: ]+$/.test(line) && !/^\|[-|: ]+$/.test(lines[index + 1] ?? ''))
    .map(cellsOf)
}

function cellsOf(line: string): string[] {
  return line
    .slice(1, -1)
    .split(' | ')
    .map(cell => cell.trim())
}

/** Returns the names in code spans of a cell. */
function namesIn(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
}

describe('docs/troubleshooting.md', () => {
  const codes = unionOf('errors.ts', 'ErrorCode')

  it('has a section for every code, in the order of the source, and no other', () => {
    expect(codes.length).toBeGreaterThan(10)
    expect(headingsOf('docs/troubleshooting.md').filter(text => text.startsWith('LOGFERRY_'))).toEqual(codes)
  })

  it.each(codes)('says what the cause of %s is, and what to do', name => {
    const [, section = ''] =
      new RegExp(`^## ${name}\\n(.*?)(?=^## |$(?![^]))`, 'ms').exec(sourceOf('docs/troubleshooting.md')) ?? []
    expect(section).toMatch(/\*\*Cause\*\*|\| cause \|/)
    expect(section).toMatch(/\*\*Remedy\*\*|\| remedy \|/)
  })
})

it('docs/refused-events.md explains every drop reason', () => {
  expect(dropReasons.length).toBeGreaterThan(10)
  const rows = rowsOf('docs/refused-events.md', '## Drop reasons')
  expect(rows.flatMap(([reason]) => namesIn(reason)).sort()).toEqual(dropReasons.toSorted())
})

describe('the statuses below 500 that are retried', () => {
  const below500 = Array.from({ length: 100 }, (_, i) => 400 + i)
  const numbersIn = (text = '') => [...text.matchAll(/\b4\d\d\b/g)].map(([number]) => Number(number))

  it('are those that docs/refused-events.md lists', () => {
    expect(below500.filter(isRetryable).length).toBeGreaterThan(2)
    const row = rowsOf('docs/refused-events.md', '## Answers of the service').find(([, text]) =>
      text?.startsWith('retries'),
    )
    expect(numbersIn(row?.[0])).toEqual(below500.filter(isRetryable))
  })

  it('are those that docs/organization.md lists, by their code', () => {
    const listed = new Map(rowsOf('docs/organization.md', '## Errors').map(([name, text]) => [namesIn(name)[0], text]))
    expect(numbersIn(listed.get('RATE_LIMITED'))).toEqual(below500.filter(isThrottled))
    expect(numbersIn(listed.get('UNAVAILABLE'))).toEqual(below500.filter(isInTrouble))
  })
})

it('docs/organization.md explains every code of an OrgError', () => {
  const codes = unionOf('org/org-error.ts', 'OrgErrorCode')
  expect(codes.length).toBeGreaterThan(5)
  const rows = rowsOf('docs/organization.md', '## Errors')
  expect(rows.flatMap(([name]) => namesIn(name)).sort()).toEqual(codes.sort())
})

it('docs/receipts.md explains every code of a NotConfirmedError', () => {
  const [, codes = ''] = /readonly code: Extract<ErrorCode, ([^>]+)>/.exec(code('shipper/not-confirmed-error.ts')) ?? []
  const names = [...codes.matchAll(/'(\w+)'/g)].map(([, name]) => name)
  expect(names.length).toBeGreaterThan(2)
  const rows = rowsOf('docs/receipts.md', '## Waiting for one event')
  expect(rows.flatMap(([name]) => namesIn(name)).sort()).toEqual(names.sort())
})

describe('docs/metrics.md', () => {
  const channelsHeading = '## Listeners and diagnostics channels'

  it('lists every diagnostic event, with its fields', () => {
    const rows = rowsOf('docs/metrics.md', channelsHeading).map(([name]) => namesIn(name)[0])
    expect(new Set(rows)).toEqual(new Set(diagnosticNames))
    for (const name of diagnosticNames) expect(rows.filter(row => row === name).length).toBeGreaterThan(3)
  })

  it('lists every counter of stats()', async () => {
    const shipper = createShipper({ baseUrl: 'http://127.0.0.1:1', token: 't', dataset: 'd' })
    const counters = Object.keys(shipper.stats())
    await shipper.close()
    const listed = rowsOf('docs/metrics.md', '## Counters').flatMap(([name]) => namesIn(name))
    expect(listed).toEqual(expect.arrayContaining(counters))
  })

  it('lists every metric with its kind and unit', async () => {
    const metrics: string[] = []
    const meter = new Proxy({} as Meter, {
      get: (_, method: string) => {
        const kind = /^create(?:Observable)?(\w+)$/.exec(method)?.[1]
        return (name: string, options: { unit: string }) => {
          if (kind !== undefined) metrics.push(`${name}: ${kind}, ${options.unit}`)
          return { record() {} }
        }
      },
    })
    const meterProvider: MeterProvider = { getMeter: () => meter }
    const shipper = createShipper({ baseUrl: 'http://127.0.0.1:1', token: 't', dataset: 'd', meterProvider })
    await shipper.close()
    const rows = rowsOf('docs/metrics.md', '## OpenTelemetry metrics').filter(([name]) => name?.startsWith('`otel.sdk'))
    expect(rows.map(([name = '', kind = '']) => `${name}: ${kind}`.replaceAll('`', '')).sort()).toEqual(metrics.sort())
  })
})

describe('docs/commands.md', () => {
  it('has a row for every command, in the order of the help, and no other', () => {
    const names = rowsOf('docs/commands.md', '# Commands').map(([name]) => namesIn(name)[0])
    expect(names).toEqual(Object.keys(commands).map(words => `logferry ${words}`))
  })

  it('says what each command prints for programs, and names --json for those that have it', async () => {
    const rows = rowsOf('docs/commands.md', '## For programs')
    const withJson = await Promise.all(
      Object.entries(commands).map(async ([words, { load }]) => {
        return [`logferry ${words}`, Object.hasOwn((await load()).command.options, 'json')]
      }),
    )
    expect(rows.map(([name, output = '']) => [namesIn(name)[0], output.startsWith('`--json`')])).toEqual(withJson)
  })
})

describe('docs/check.md', () => {
  it('has a row for every check, and no other', () => {
    const headings = [
      '## Checks of this machine\n',
      '## Checks of the way to the service\n',
      '## Checks of the service\n',
    ]
    const rows = headings.flatMap(heading => rowsOf('docs/check.md', heading))
    const names = rows.map(([name]) => namesIn(name)[0])
    expect(names.toSorted()).toEqual(allChecks.map(({ name }) => name).toSorted())
  })
})

it('docs/dev.md explains every kind of fault', () => {
  const rows = rowsOf('docs/dev.md', '## Faults')
  const kinds = rows.flatMap(([fault]) => namesIn(fault)).map(name => name.replace(/[=,].*$/, ''))
  expect([...new Set(kinds)]).toEqual([...faultKinds])
})
