/** The docstrings of the options, which the compiler cannot compare with the definitions. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { accountingOptions } from '../src/options/accounting-options.ts'
import { fieldsOptions } from '../src/options/fields-options.ts'
import { limitsOptions } from '../src/options/limits-options.ts'
import { collapseOptions, holdOptions } from '../src/options/noise-options.ts'
import type { Definitions } from '../src/options/option.ts'
import { serviceOptions } from '../src/options/service-options.ts'
import { shapingOptions } from '../src/options/shaping-options.ts'
import { shipperOptions } from '../src/options/shipper-options.ts'
import { spoolOptions } from '../src/options/spool-options.ts'
import { tlsOptions } from '../src/options/tls-options.ts'
import { usageOptions } from '../src/options/usage-options.ts'
import { orgClientOptions } from '../src/org/client-options.ts'

const interfaces: readonly (readonly [name: string, file: string, definitions: Definitions])[] = [
  ['ServiceOptions', 'options/service-options.ts', serviceOptions],
  ['ShapingOptions', 'options/shaping-options.ts', shapingOptions],
  ['CollapseOptions', 'options/noise-options.ts', collapseOptions],
  ['HoldOptions', 'options/noise-options.ts', holdOptions],
  ['AccountingOptions', 'options/accounting-options.ts', accountingOptions],
  ['UsageOptions', 'options/usage-options.ts', usageOptions],
  ['FieldsOptions', 'options/fields-options.ts', fieldsOptions],
  ['ShipperOptions', 'options/shipper-options.ts', shipperOptions],
  ['TlsOptions', 'options/tls-options.ts', tlsOptions],
  ['SpoolOptions', 'options/spool-options.ts', spoolOptions],
  ['LimitsOptions', 'options/limits-options.ts', limitsOptions],
  ['OrgClientOptions', 'org/client-options.ts', orgClientOptions],
]

const text = (url: string | URL) => readFileSync(new URL(url, import.meta.url), 'utf8')

/** Returns the docstrings of the properties of an interface, by property name. */
function docstrings(source: string, name: string): Map<string, string> {
  const [, body = ''] = new RegExp(`interface ${name}\\b[^{]*\\{(.*?)\\n\\}`, 's').exec(source) ?? []
  const found = body.matchAll(/^\s+\/\*\*((?:(?!\*\/).)*)\*\/\n\s+(\w+)\??: /gms)
  const onOneLine = (comment: string) => comment.replace(/\s*\n\s*\*\s*/g, ' ').trim()
  return new Map([...found].map(([, comment = '', property = '']) => [property, onOneLine(comment)]))
}

describe.each(interfaces)('the docstrings of %s', (name, file, definitions) => {
  const written = docstrings(text(`../src/${file}`), name)
  const own = Object.entries(definitions).filter(([option]) => {
    const isInherited = Object.hasOwn(
      { ...serviceOptions, ...shapingOptions, ...accountingOptions, ...usageOptions },
      option,
    )
    return !isInherited || ['ServiceOptions', 'ShapingOptions', 'AccountingOptions', 'UsageOptions'].includes(name)
  })

  it('are there, one for each option', () => {
    expect(own.map(([option]) => option).filter(option => !written.has(option))).toEqual([])
    expect(own.length).toBeGreaterThan(0)
  })

  it('are in the declarations of `npm run build`, so that editors show them', () => {
    const declarations = ['index', 'org', 'shared/types'].map(part => text(`../dist/${part}.d.cts`)).join('\n')
    expect(docstrings(declarations, name)).toEqual(written)
  })

  it('name the default of the definition', () => {
    for (const [option, { default: value }] of own) {
      if (value === undefined) continue
      expect(written.get(option)).toContain(`@defaultValue ${typeof value === 'string' ? `'${value}'` : value}`)
    }
  })

  it('name the range that the definition checks', () => {
    for (const [option, { values, defaultFrom }] of own) {
      const range = /^(at least \d+|\d+ to \d+) \w+$/.exec(values)?.[1]
      if (range === undefined || defaultFrom !== undefined) continue
      expect(written.get(option)?.replace(/(?<=\d) (?=\d{3})/g, '')).toContain(`Integer, ${range}`)
    }
  })
})
