/** The tables of options, made of the definitions of the options. */
import { accountingOptions } from '../src/options/accounting-options.ts'
import { fieldsOptions } from '../src/options/fields-options.ts'
import { limitsOptions } from '../src/options/limits-options.ts'
import { collapseOptions, holdOptions } from '../src/options/noise-options.ts'
import type { Definitions, Option, Presence } from '../src/options/option.ts'
import { serviceOptions } from '../src/options/service-options.ts'
import { shapingOptions } from '../src/options/shaping-options.ts'
import { shipperOptions } from '../src/options/shipper-options.ts'
import { spoolOptions } from '../src/options/spool-options.ts'
import { tlsOptions } from '../src/options/tls-options.ts'
import { usageOptions } from '../src/options/usage-options.ts'
import { orgClientOptions } from '../src/org/client-options.ts'

const MiB = 1_048_576

/** The tables, by the name that stands in the marker of each. */
export const optionTables: Readonly<Record<string, () => string>> = {
  service: () => optionTable(serviceOptions),
  tls: () => optionTable(tlsOptions, 'tls.'),
  shaping: () => optionTable(shapingOptions),
  accounting: () => optionTable(accountingOptions),
  usage: () => optionTable(usageOptions),
  fields: () => optionTable(fieldsOptions, 'fields.'),
  shipper: () => optionTable(ownPart(shipperOptions)),
  spool: () => optionTable(spoolOptions, 'spool.'),
  limits: () => optionTable(limitsOptions, 'limits.'),
  collapse: () => optionTable(collapseOptions, 'collapse.'),
  hold: () => optionTable(holdOptions, 'hold.'),
  'organization client': () => optionTable(ownPart(orgClientOptions)),
  'environment variables': () => variableTable(shipperOptions),
}

/** Returns the definitions that are not of the service. */
function ownPart(definitions: Definitions): Definitions {
  const shared = { ...serviceOptions, ...shapingOptions, ...accountingOptions, ...usageOptions }
  return Object.fromEntries(Object.entries(definitions).filter(([name]) => !Object.hasOwn(shared, name)))
}

function optionTable(definitions: Definitions, prefix = ''): string {
  const rows = Object.entries(definitions).map(([name, definition]) => {
    const { values, summary } = definition
    return `| \`${prefix}${name}\` | ${grouped(values)} | ${defaultOf(definition)} | ${summary} |\n`
  })
  return `| option | values | default | |\n|---|---|---|---|\n${rows.join('')}`
}

function defaultOf({ presence, defaultText, default: value, env }: Option<unknown, Presence>): string {
  if (presence === 'required') return 'required'
  if (defaultText !== undefined) return defaultText
  if (value === undefined) return env === undefined ? '–' : `\`${env}\``
  if (typeof value !== 'number') return `\`${typeof value === 'string' ? `'${value}'` : value}\``
  if (value % (1024 * MiB) === 0) return `${value / (1024 * MiB)} GiB`
  return value % MiB === 0 ? `${value / MiB} MiB` : grouped(String(value))
}

function variableTable(definitions: Definitions): string {
  const rows = Object.entries(definitions).flatMap(([name, { env }]) => {
    return env === undefined ? [] : [`| \`${env}\` | \`${name}\` |\n`]
  })
  return `| variable | option |\n|---|---|\n${rows.join('')}`
}

/** Groups the digits of numbers: 10,000. */
function grouped(text: string): string {
  return text.replace(/\d{4,}/g, digits => Number(digits).toLocaleString('en-US'))
}
