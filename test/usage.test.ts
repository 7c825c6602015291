/** The bytes of log statements, and rules for fields, as users see them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { LoggerProvider } from '@opentelemetry/sdk-logs'
import { describe, expect, it, vi } from 'vitest'
import winston from 'winston'
import type { Shipper, ShipperOptions } from '../src/index.ts'
import { LogferryLogRecordProcessor } from '../src/otel.ts'
import { LogferryTransport } from '../src/winston.ts'
import { startShipping } from './support/shipping.ts'

/** Returns the bytes of the stored events of a dataset, as they were sent: without the newline. */
function bytesOf(events: readonly object[]): number {
  return events.reduce((sum, event) => sum + Buffer.byteLength(JSON.stringify(event)), 0)
}

/** Calls `log` with a level, a message and fields, by each way of logging. */
const ways: readonly [
  string,
  (shipper: Shipper) => (level: string, message: string, fields: object) => void,
  string,
][] = [
  ['the core', shipper => (level, message, fields) => void shipper.ship({ level, message, ...fields }), ''],
  [
    'Winston',
    shipper => {
      const logger = winston.createLogger({ transports: [new LogferryTransport({ shipper })] })
      return (level, message, fields) => void logger.log(level, message, fields)
    },
    '',
  ],
  [
    'OpenTelemetry',
    shipper => {
      const resource = resourceFromAttributes({ 'service.name': 'shop' })
      const logger = new LoggerProvider({
        resource,
        processors: [new LogferryLogRecordProcessor({ shipper })],
      }).getLogger('demo')
      return (level, message, fields) =>
        logger.emit({
          severityText: level,
          severityNumber: level === 'error' ? 17 : 9,
          body: message,
          attributes: { ...fields } as never,
        })
    },
    'attributes.',
  ],
]

describe.each(ways)('usage() of %s', (_, loggerOf) => {
  it('lists the log statements with most bytes, as they were sent', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    const log = loggerOf(shipper)
    for (let i = 0; i < 50; i++) log('info', `order ${i} placed by "alice"`, { text: 'x'.repeat(500) })
    for (let i = 0; i < 50; i++) log('error', `payment ${i} failed`, { text: 'x'.repeat(100) })
    log('info', 'started', {})
    await shipper.flush()
    const { statements, ...usage } = shipper.usage()
    const events = shipping.emulator.events('d')
    const bytes = bytesOf(events)
    expect(statements).toMatchObject([
      { dataset: 'd', level: 'info', text: 'order * placed by *', events: 50 },
      { dataset: 'd', level: 'error', text: 'payment * failed', events: 50 },
      { dataset: 'd', level: 'info', text: 'started', events: 1 },
    ])
    expect(statements[0]?.bytes).toBe(bytesOf(events.filter(({ message }) => String(message).startsWith('order'))))
    expect(statements.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1)
    expect(usage).toMatchObject({ events: 101, bytes, datasets: { d: { events: 101, bytes } }, fields: undefined })
    expect(usage.otherStatements).toEqual({ events: 0, bytes: 0 })
    expect(Math.abs(usage.sinceMs + usage.periodMs - Date.now())).toBeLessThan(2000)
  })
})

describe('usage()', () => {
  it('lists as many statements as wanted, and sums up the others', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    for (const message of ['one', 'two', 'three']) shipper.ship({ level: 'info', message })
    const { statements, otherStatements } = shipper.usage({ maxStatements: 1 })
    expect([statements.length, otherStatements.events]).toEqual([1, 2])
  })

  it.each([-1, 241, 1.5, '5', null])('refuses maxStatements: %j', async maxStatements => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    const refused = { code: 'LOGFERRY_INVALID_OPTION', option: 'maxStatements' }
    expect(() => shipper.usage({ maxStatements: maxStatements as number })).toThrow(expect.objectContaining(refused))
  })

  it.each([
    [null, 'options'],
    [5, 'options'],
    [{ max: 5 }, 'max'],
  ])('refuses %j in place of its options', async (options, option) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    const refused = { name: 'TypeError', code: 'LOGFERRY_INVALID_OPTION', option }
    expect(() => shipper.usage(options as never)).toThrow(expect.objectContaining(refused))
  })

  it('counts by dataset, and only events that were kept', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ dataset: ({ to }) => to as string })
    for (const to of ['a', 'a', 'b', '']) shipper.ship({ level: 'info', message: 'm', to })
    const { events, datasets, statements } = shipper.usage()
    expect(events).toBe(3)
    expect([datasets.a?.events, datasets.b?.events]).toEqual([2, 1])
    expect(statements.map(({ dataset, text }) => [dataset, text])).toEqual([
      ['a', 'm'],
      ['b', 'm'],
    ])
  })

  it('lists nothing with countUsage: false', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ countUsage: false })
    shipper.ship({ level: 'info', message: 'm' })
    expect(shipper.usage()).toMatchObject({ events: 0, bytes: 0, statements: [], datasets: {} })
  })
})

describe('reportUsageEveryMs', () => {
  it('ships the statements of each period as an event, while events are logged', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ reportUsageEveryMs: 1000 })
    for (let i = 0; i < 10; i++) shipper.ship({ level: 'info', message: `order ${i} placed` })
    await sleep(1300)
    shipper.ship({ level: 'info', message: 'after' })
    await shipper.close()
    const reports = shipping.emulator.events('d').filter(({ logferry }) => logferry !== undefined)
    expect(reports).toMatchObject([
      {
        level: 'info',
        message: 'logferry: 100 % are info "order * placed"',
        logferry: {
          usage: { events: 10, statements: [{ dataset: 'd', text: 'order * placed', events: 10, share: 1 }] },
        },
      },
      { logferry: { usage: { events: 2, statements: [expect.anything(), expect.anything()] } } },
    ])
    expect(shipping.emulator.events('d')).toHaveLength(13)
  })

  it('counts the summaries that close() releases, and ships nothing after close()', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ reportUsageEveryMs: 1000, collapse: {} })
    for (let i = 0; i < 100; i++) shipper.ship({ level: 'error', message: 'no connection' })
    await shipper.close()
    await sleep(1300)
    const reports = shipping.emulator.events('d').filter(({ message }) => String(message).startsWith('logferry: '))
    expect(reports).toMatchObject([{ logferry: { usage: { events: 2 } } }])
    expect(shipper.stats()).toMatchObject({ accepted: 102, pending: 0 })
  })

  it('redacts a report before a part of it becomes one text', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({
      reportUsageEveryMs: 1000,
      fields: { asText: ['logferry.usage'] },
      redact: ['text'],
    })
    shipper.ship({ level: 'info', message: 'm' })
    await shipper.close()
    const [, report] = shipping.emulator.events('d') as unknown as [object, { logferry: { usage: string } }]
    expect(JSON.parse(report.logferry.usage).statements).toMatchObject([{ text: '[redacted]', events: 1 }])
  })

  it('ships what was counted so far when a billing period begins', async () => {
    await using shipping = await startShipping()
    const { orgId, accessToken } = shipping.emulator
    const shipper = shipping.ship({ reportUsageEveryMs: 60_000, limits: { orgId, accessToken, refreshMs: 1000 } })
    await vi.waitFor(() => expect(shipper.stats().limits?.readAt).toBeDefined(), 5000)
    for (let i = 0; i < 10; i++) shipper.ship({ level: 'info', message: `order ${i} placed` })
    const [billingPeriodStart, billingPeriodEnd] = [-1000, 86_400_000].map(ms =>
      new Date(Date.now() + ms).toISOString(),
    )
    shipping.emulator.changeOrg({ license: { billingPeriodStart, billingPeriodEnd } })
    await vi.waitFor(() => expect(shipper.usage().events).toBe(0), 5000)
    shipper.ship({ level: 'info', message: 'after' })
    await shipper.close()
    const reports = shipping.emulator.events('d').filter(({ logferry }) => logferry !== undefined)
    expect(reports).toMatchObject([{ logferry: { usage: { events: 10 } } }, { logferry: { usage: { events: 1 } } }])
  })

  it('ships the last report when a transport is removed', async () => {
    await using shipping = await startShipping()
    const { url: baseUrl, token } = shipping.emulator
    const transport = new LogferryTransport({ baseUrl, token, dataset: 'd', reportUsageEveryMs: 60_000 })
    const warned: string[] = []
    transport.on('warn', ({ message }) => warned.push(message))
    const logger = winston.createLogger({ transports: [transport] })
    logger.info('hello')
    logger.remove(transport)
    await shipping.emulator.waitForEvents('d', 2)
    expect(shipping.emulator.events('d')[1]).toMatchObject({ logferry: { usage: { events: 1 } } })
    await sleep(100)
    expect([transport.shipper.stats().dropped, warned]).toEqual([0, []])
  })

  it('goes to the dataset with most bytes if a function names the datasets', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ reportUsageEveryMs: 60_000, dataset: ({ to }) => to as string })
    for (const to of ['1', '2', '2']) shipper.ship({ level: 'info', message: 'm', to })
    await shipper.close()
    expect(shipping.emulator.events('1')).toHaveLength(1)
    const [, , report] = shipping.emulator.events('2')
    expect(report).toMatchObject({ logferry: { usage: { datasets: [{ dataset: '2' }, { dataset: '1' }] } } })
  })
})

describe('fields that logferry adds', () => {
  it('have their places in a full dataset', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ fields: { max: 30 }, collapse: {}, identify: true, reportUsageEveryMs: 60_000 })
    for (let i = 0; i < 40; i++) shipper.ship({ message: `m${i}`, [`name_${'abcdefghij'[i % 10]}${'klmn'[i % 4]}`]: i })
    for (let i = 0; i < 3; i++) shipper.ship({ message: 'same' })
    await shipper.close()
    const all = shipping.emulator.events('d')
    expect(all).toContainEqual(
      expect.objectContaining({ logferry: { repeated: expect.objectContaining({ count: 2 }) as unknown } }),
    )
    expect(all.some(({ message }) => String(message).startsWith('logferry: '))).toBe(true)
    const paths = new Set(all.flatMap(event => leavesOf(event)))
    expect(paths.size).toBeGreaterThan(20)
    expect(paths.size).toBeLessThanOrEqual(30)
  })
})

describe.each(ways)('fields, by %s:', (_, loggerOf, prefix) => {
  const within = (event: Record<string, unknown>) =>
    prefix === '' ? event : (event.attributes as Record<string, unknown>)
  const shipped = async (fields: ShipperOptions['fields'], log: (log: ReturnType<typeof loggerOf>) => void) => {
    const shipping = await startShipping()
    const shipper = shipping.ship({ fields })
    log(loggerOf(shipper))
    await shipper.flush()
    return Object.assign(shipping, { shipper, events: shipping.emulator.events('d').map(within) })
  }

  it('asText makes one text of a group', async () => {
    await using shipping = await shipped({ asText: [`${prefix}labels.*`] }, log => {
      log('info', 'm', { labels: { env: 'prod', team: 'x' }, other: { a: 1 } })
    })
    expect(shipping.events).toMatchObject([{ labels: '{"env":"prod","team":"x"}', other: { a: 1 } }])
  })

  it('max folds new fields into the overflow field, with a warning', async () => {
    await using shipping = await shipped({ max: 30, overflowField: 'rest' }, log => {
      for (let i = 0; i < 40; i++)
        log('info', 'm', { [`name_${'abcdefghij'[i % 10]}${'klmn'[Math.floor(i / 10)]}`]: i })
    })
    const counts = shipping.shipper.usage().fields?.d
    expect(counts?.count).toBe(30)
    const all = shipping.emulator.events('d')
    const paths = new Set(all.flatMap(event => leavesOf(event)))
    expect(paths.size).toBeLessThanOrEqual(30)
    expect(paths).toContain('rest')
    for (let i = 0; i < 40; i++) expect(JSON.stringify(all[i])).toContain(`name_${'abcdefghij'[i % 10]}`)
    const [warning] = shipping.warnings
    expect(warning).toMatchObject({
      code: 'LOGFERRY_FIELDS',
      message: expect.stringContaining('dataset "d" has no room'),
    })
  })

  it('the warning of max shows only the beginning of a name that may be personal', async () => {
    await using shipping = await shipped({ max: 20 }, log => {
      for (let i = 0; i < 30; i++)
        log('info', 'm', { users: { [`mary.${'abcdefghij'.repeat(3)[i]}${i}@example.com`]: 1 } })
    })
    const messages = shipping.warnings.map(({ message }) => message).join()
    expect(messages).toContain('has no room')
    expect(messages).not.toContain('example')
  })

  it('names that look like values, and changes of type, are warned of and counted', async () => {
    await using shipping = await shipped({}, log => {
      for (let i = 0; i < 5; i++) log('info', 'm', { users: { [`8f3a${i}${i}`]: 1 }, total: i === 3 ? 'three' : i })
    })
    const messages = shipping.warnings.map(({ code, message }) => `${code} ${message}`)
    expect(messages).toEqual([
      expect.stringMatching(
        /^LOGFERRY_FIELDS .* look like identifiers or values: "(attributes\.)?users\.8f3a…".* fields\.asText: \["(attributes\.)?users\.\*"\]\.$/,
      ),
      expect.stringMatching(
        /^LOGFERRY_FIELDS .* the field "(attributes\.)?total" in dataset "d" was number, then string\./,
      ),
    ])
    expect(shipping.shipper.usage().fields).toMatchObject({
      d: {
        valueLikeNames: [{ example: `${prefix}users.8f3a…`, group: `${prefix}users`, names: 5 }],
        typeChanges: [{ path: `${prefix}total`, types: ['number', 'string'] }],
      },
    })
  })
})

describe('fields of OpenTelemetry', () => {
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`n${i}`, Number.NaN]))
  it.each<[string, ShipperOptions, object]>([
    ['in a text', { fields: { asText: ['attributes.labels'] } }, { ratio: 'NaN', labels: '{"a":"NaN"}' }],
    ['in the overflow field', { fields: { max: 20 } }, { ratio: 'NaN' }],
    ['under redaction', { fields: { max: 20 }, redact: ['card'] }, { ratio: 'NaN' }],
  ])('keep numbers that JSON does not have, as texts (%s)', async (_, options, attributes) => {
    await using shipping = await startShipping()
    const processor = new LogferryLogRecordProcessor({ shipper: shipping.ship(options) })
    const logger = new LoggerProvider({ processors: [processor] }).getLogger('orders')
    logger.emit({ severityNumber: 9, body: 'm', attributes: { ratio: Number.NaN, 'labels.a': Number.NaN, ...many } })
    await processor.forceFlush()
    const [event] = shipping.emulator.events('d')
    expect(event).toMatchObject({ attributes })
    const folded = (event as { overflow?: string }).overflow
    if (options.fields?.max !== undefined) expect(JSON.parse(folded ?? '')).toHaveProperty(['attributes.n29'], 'NaN')
  })
})

describe('fields with a license', () => {
  it('keep to the lower of both limits', async () => {
    await using shipping = await startShipping({ org: { license: { maxFields: 26 } }, enforce: true })
    const { orgId, accessToken } = shipping.emulator
    const shipper = shipping.ship({ limits: { orgId, accessToken }, fields: { max: 100, asText: ['labels.*'] } })
    while (shipper.stats().limits?.readAt === undefined) await sleep(10)
    for (let i = 0; i < 40; i++)
      shipper.ship({
        level: 'info',
        message: 'm',
        labels: { a: i },
        [`n${'abcdefghij'[i % 10]}${'klmn'[Math.floor(i / 10)]}`]: i,
      })
    await shipper.flush()
    const events = shipping.emulator.events('d')
    expect(events).toHaveLength(40)
    expect(new Set(events.flatMap(event => leavesOf(event))).size).toBeLessThanOrEqual(26)
    expect(events[0]).toMatchObject({ labels: '{"a":0}' })
    expect(shipper.stats()).toMatchObject({ delivered: 40, dropped: 0, limits: { maxFields: 26 } })
  })
})

function leavesOf(value: unknown, path?: string): string[] {
  const members = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : []
  if (members.length === 0) return path === undefined ? [] : [path]
  return members.flatMap(([name, member]) => leavesOf(member, path === undefined ? name : `${path}.${name}`))
}
