/** Lists in the documentation that have their source in the code: neither has an entry that the other lacks. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { root } from '../../docs/pages.ts'
import { allChecks } from '../../src/cli/checks/all-checks.ts'
import { commands } from '../../src/cli/commands.ts'
import { createShipper } from '../../src/index.ts'
import type { Meter, MeterProvider } from '../../src/options/meter-provider.ts'
import { headingsOf, sourceOf } from './markdown.ts'

const code = (file: string) => readFileSync(`${root}src/${file}`, 'utf8')

/** Returns the texts in quotes of a union of texts. */
function unionOf(file: string, name: string): string[] {
  const [, body = ''] = new RegExp(`export type ${name} =\\n(.*?)\\n\\n`, 's').exec(code(file)) ?? []
  return [...body.matchAll(/^ {2}\| '(.+)'$/gm)].map(([, text = '']) => text)
}

/** Returns the names of the properties of an interface. */
function propertiesOf(file: string, name: string): string[] {
  const [, body = ''] = new RegExp(`export interface ${name} \\{\\n(.*?)\\n\\}`, 's').exec(code(file)) ?? []
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??: /gm)].map(([, property = '']) => property)
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
  const reasons = unionOf('accounting/ledger.ts', 'DropReason')
  expect(reasons.length).toBeGreaterThan(10)
  const rows = rowsOf('docs/refused-events.md', '## Drop reasons')
  expect(rows.flatMap(([reason]) => namesIn(reason)).sort()).toEqual(reasons.sort())
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
  const events = rowsOf('docs/metrics.md', '## Listeners and diagnostics channels')
  const diagnostics = 'accounting/diagnostics.ts'

  it('lists every diagnostic event', () => {
    const names = propertiesOf(diagnostics, 'DiagnosticListeners')
    expect(names.length).toBeGreaterThan(5)
    expect(events.flatMap(([name]) => namesIn(name)).sort()).toEqual(names.sort())
  })

  it.each(events.map(([name = '', , fields = '']) => [namesIn(name)[0] ?? '', fields]))(
    'lists the fields of %s',
    (name, fields) => {
      const type = `${name[0]?.toUpperCase()}${name.slice(1)}`
      const properties = propertiesOf(type === 'Dropped' ? 'accounting/ledger.ts' : diagnostics, type)
      expect(properties.length).toBeGreaterThan(2)
      expect(namesIn(fields).sort()).toEqual(properties.sort())
    },
  )

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
