import { once } from 'node:events'
import { mkdtempDisposable, readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { LoggerProvider } from '@opentelemetry/sdk-logs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import winston from 'winston'
import TransportStream from 'winston-transport'
import type { Dropped, Shipper, ShipperOptions } from '../../src/index.ts'
import { LogferryLogRecordExporter, LogferryLogRecordProcessor } from '../../src/otel.ts'
import { LogferryTransport } from '../../src/winston.ts'
import { type Shipping, startShipping } from '../support/shipping.ts'
import { otelRecord, ways } from './ways.ts'

type Transform = NonNullable<ShipperOptions['transform']>
type Event = Record<string, unknown>

const resource = resourceFromAttributes({ 'service.name': 'checkout', 'process.pid': 7 })

function otelLogger(shipper: Shipper) {
  const provider = new LoggerProvider({ resource, processors: [new LogferryLogRecordProcessor({ shipper })] })
  return provider.getLogger('orders', '0.1.0')
}

async function arrived({ emulator }: Shipping, shipper: Shipper): Promise<Event[]> {
  await shipper.flush()
  return emulator.events('d').map(({ _time, observed_time, ...event }) => event)
}

describe.each(ways)('a transform, by %s', (_, logOf) => {
  it('ships the event that it returns, the same or another', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({
      transform: event => (event.message === 'other' ? { message: 'made up' } : Object.assign(event, { added: 1 })),
    })
    const log = logOf(shipper)
    log('info', 'same')
    log('info', 'other')
    const [same, other] = await arrived(shipping, shipper)
    expect(same).toMatchObject({ level: 'info', message: 'same', added: 1 })
    expect(other).toEqual({ message: 'made up' })
  })

  it.each([undefined, null])('drops the event if it returns %s, as the application intends', async nothing => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ transform: event => (event.level === 'debug' ? nothing : event) })
    const drops: Dropped[] = []
    shipper.on('dropped', dropped => drops.push(dropped))
    const log = logOf(shipper)
    log('debug', 'no')
    log('info', 'yes')
    expect(await arrived(shipping, shipper)).toMatchObject([{ message: 'yes' }])
    expect(shipper.stats()).toMatchObject({ accepted: 2, delivered: 1, dropped: 1, drops: { transform: { debug: 1 } } })
    expect(drops).toMatchObject([{ reason: 'transform', count: 1, bySeverity: { debug: 1 } }])
    expect(shipping.warnings).toEqual([])
  })

  it.each<[string, () => unknown, RegExp]>([
    [
      'throws',
      () => thrown(new TypeError('with data')),
      /`transform` function threw TypeError; the event is shipped unch/,
    ],
    ['returns a promise', async () => ({ message: 'late' }), /returned a promise, and is not waited for/],
    ['returns a promise that is rejected', async () => thrown(new Error('late')), /returned a promise/],
    ['returns a text', () => 'secret text', /returned a string of 11 characters \(not shown\)/],
    ['returns false', () => false, /returned a boolean/],
    ['returns an array', () => [], /returned an array/],
    [
      'returns an object that throws',
      () => ({
        get level() {
          return thrown(new RangeError('x'))
        },
      }),
      /threw RangeError/,
    ],
  ])('that %s ships the event unchanged, and one warning says so', async (_, transform, message) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({
      transform: (event => {
        event.message = 'changed'
        return transform()
      }) as Transform,
    })
    const log = logOf(shipper)
    for (let n = 0; n < 3; n++) log('info', 'm')
    expect(await arrived(shipping, shipper)).toMatchObject([{ message: 'm' }, { message: 'm' }, { message: 'm' }])
    expect(shipping.warnings).toEqual([
      { code: 'LOGFERRY_CALLBACK_THREW', message: expect.stringMatching(message), suppressed: 0 },
    ])
  })

  it('that logs does not recurse without end', async () => {
    await using shipping = await startShipping()
    const shipper: Shipper = shipping.ship({
      transform: event => {
        log('info', 'within')
        return event
      },
    })
    const log = logOf(shipper)
    log('info', 'outer')
    await shipper.flush()
    const { accepted, delivered, dropped } = shipper.stats()
    expect(delivered).toBeGreaterThan(0)
    expect(accepted).toBe(delivered + dropped)
    expect(accepted).toBeLessThan(20)
  })
})

function thrown(error: Error): never {
  throw error
}

describe('a transform gets a copy', () => {
  it('whose changes reach neither other transports of Winston nor the objects that were logged', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({
      transform: event => {
        const { user, list, error } = event as { user: Event; list: Event[]; error: Event }
        Object.assign(event, { message: 'changed' })
        Object.assign(user, { name: 'changed' })
        Object.assign(list[0] as Event, { n: 'changed' })
        if (error !== undefined) error.message = 'changed'
        return event
      },
    })
    const seen: unknown[] = []
    class Other extends TransportStream {
      override log(info: { message: string; user: unknown; list: unknown; error: Error }, callback: () => void) {
        seen.push(structuredClone([info.message, info.user, info.list, info.error?.message]))
        callback()
      }
    }
    const format = winston.format(info => info)()
    const logger = winston.createLogger({ format, transports: [new LogferryTransport({ shipper }), new Other()] })
    const meta = { user: { name: 'Ann' }, list: [{ n: 1 }] }
    const error = new Error('boom')
    logger.info('m', meta)
    logger.info('m', { ...meta, error })
    await once(logger.end(), 'finish')
    expect(seen).toEqual([
      ['m', { name: 'Ann' }, [{ n: 1 }], undefined],
      ['m', { name: 'Ann' }, [{ n: 1 }], 'boom'],
    ])
    expect(meta).toEqual({ user: { name: 'Ann' }, list: [{ n: 1 }] })
    expect(error.message).toBe('boom')
    const changed = { message: 'changed', user: { name: 'changed' }, list: [{ n: 'changed' }] }
    expect(await arrived(shipping, shipper)).toMatchObject([changed, { ...changed, error: { message: 'changed' } }])
  })

  it('of the event as it is shipped, whatever was logged', async () => {
    await using shipping = await startShipping()
    const seen: unknown[] = []
    const shipper = shipping.ship({
      transform: event => {
        seen.push(structuredClone(event))
        return event
      },
    })
    class Row {
      id = 1
    }
    const cyclic: Event = { message: 'cyclic' }
    cyclic.self = cyclic
    const throwing = {
      message: 'throws',
      get secret() {
        return thrown(new Error('no'))
      },
    }
    const hidden = { message: 'hidden', toJSON: () => ({ message: 'shown' }) }
    const date = new Date(0)
    const events = [
      { message: 'error', error: new RangeError('boom') },
      { message: 'row', row: new Row(), big: 10n, fn: () => 1 },
      { message: 'date', date, dates: [date] },
      cyclic,
      throwing,
      hidden,
      new Row(),
      new Proxy({ message: 'proxy' }, {}),
      { message: 'map', map: new Map([['k', 'v']]) },
      JSON.parse('{"message":"proto","__proto__":{"a":1},"nested":{"__proto__":2}}'),
      'a text',
      null,
    ]
    for (const event of events) shipper.ship(event as Event)
    const lines = await arrived(shipping, shipper)
    expect(lines).toHaveLength(events.length)
    expect(seen.map(event => JSON.parse(JSON.stringify(event)))).toEqual(lines)
    expect(lines).toContainEqual({ message: 'shown' })
    expect(lines).toContainEqual({ message: 'date', date: date.toISOString(), dates: [date.toISOString()] })
  })

  it('and counts an event that had to be altered once, if it is shipped', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({
      transform: event => {
        if (event.fails === true) throw new Error('no')
        return event.drop === true ? undefined : event
      },
    })
    const altered = { fn: () => 1, text: 'x'.repeat(2_000_000) }
    for (const fields of [{}, { fails: true }, { drop: true }]) shipper.ship({ ...fields, ...altered })
    expect(shipper.stats()).toMatchObject({ accepted: 3, stubbed: 2, cut: 2, drops: { transform: { info: 1 } } })
  })

  it('of any plain data, which is shipped as without a transform', async () => {
    await using shipping = await startShipping()
    const plain = shipping.ship({ dataset: 'plain' })
    const shipper = shipping.ship({ transform: event => event })
    const events = fc.sample(fc.dictionary(fc.string(), fc.jsonValue({ depthSize: 'medium' })), 300)
    for (const event of events) {
      plain.ship(event)
      shipper.ship(event)
    }
    await plain.flush()
    const without = shipping.emulator.events('plain').map(({ _time, ...event }) => event)
    expect(await arrived(shipping, shipper)).toEqual(without)
  })
})

describe('a transform of OpenTelemetry records', () => {
  it('sees resource and scope, and may leave, replace or remove them', async () => {
    await using shipping = await startShipping()
    const seen: unknown[] = []
    const shipper = shipping.ship({
      transform: event => {
        seen.push({ resource: event.resource, scope: event.scope })
        const { resource, ...rest } = event as { resource: { service: unknown } }
        switch (event.message) {
          case 'without resource':
            return rest
          case 'less resource':
            return { ...rest, resource: { service: resource.service } }
          case 'a copy':
            return { ...event, n: 1 }
          default:
            return event
        }
      },
    })
    const logger = otelLogger(shipper)
    for (const body of ['unchanged', 'a copy', 'less resource', 'without resource', 'unchanged']) logger.emit({ body })
    const whole = { service: { name: 'checkout' }, process: { pid: 7 } }
    const scope = { name: 'orders', version: '0.1.0' }
    const events = await arrived(shipping, shipper)
    expect(events.map(({ message, resource, scope, n }) => ({ message, resource, scope, n }))).toEqual([
      { message: 'unchanged', resource: whole, scope },
      { message: 'a copy', resource: whole, scope, n: 1 },
      { message: 'less resource', resource: { service: { name: 'checkout' } }, scope },
      { message: 'without resource', resource: undefined, scope },
      { message: 'unchanged', resource: whole, scope },
    ])
    expect(seen).toEqual(Array(5).fill({ resource: whole, scope }))
    for (const line of shipping.emulator.lines('d')) expect(line.match(/"resource":/g)?.length ?? 0).toBeLessThan(2)
  })

  it('may freeze or keep the event that it returns', async () => {
    await using shipping = await startShipping()
    const kept: Readonly<Event>[] = []
    const shipper = shipping.ship({
      transform: event => {
        event.attributes = { card: '****' }
        kept.push(event)
        return event.message === 'frozen' ? Object.freeze(event) : event
      },
    })
    const logger = otelLogger(shipper)
    for (const body of ['frozen', 'kept']) logger.emit({ body, attributes: { card: '4111' } })
    const events = await arrived(shipping, shipper)
    const resource = { service: { name: 'checkout' }, process: { pid: 7 } }
    expect(events).toMatchObject(Array(2).fill({ attributes: { card: '****' }, resource }))
    expect(kept).toMatchObject(Array(2).fill({ resource }))
  })

  it('cannot change the resource of other records', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({
      transform: event => {
        ;(event.resource as { process: { pid: number } }).process.pid = 0
        return event
      },
    })
    otelLogger(shipper).emit({ body: 'm' })
    expect(await arrived(shipping, shipper)).toMatchObject([{ resource: { process: { pid: 7 } } }])
    expect(shipping.warnings).toMatchObject([{ message: expect.stringContaining('threw TypeError') }])
  })

  it('keeps numbers that JSON does not have as texts', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ transform: ({ resource, ...event }) => ({ ...event }) })
    otelLogger(shipper).emit({ body: { ratio: Number.NaN } })
    expect(await arrived(shipping, shipper)).toMatchObject([{ body: { ratio: 'NaN' } }])
  })

  it.each(['accepted', 'delivered'] as const)('fails no export with a drop (%s)', async acknowledge => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ transform: () => undefined })
    const exporter = new LogferryLogRecordExporter({ shipper, acknowledge })
    expect(await new Promise(resolve => exporter.export([otelRecord('m')], resolve))).toEqual({ code: 0 })
    expect(shipper.stats().drops).toEqual({ transform: { info: 1 } })
  })
})

describe('the transformed event', () => {
  it('is what the dataset function sees', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({
      transform: event => ({ ...event, tenant: 'blue' }),
      dataset: event => (event.tenant === 'blue' && event.resource !== undefined ? 'd' : 'elsewhere'),
    })
    otelLogger(shipper).emit({ body: 'm' })
    expect(await arrived(shipping, shipper)).toHaveLength(1)
  })

  it('has the severity of its level, if the transform changes that', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ transform: event => ({ ...event, level: 'debug' }), sample: { debug: 0 } })
    shipper.ship({ level: 'error', message: 'noise' })
    expect(shipper.stats().drops).toEqual({ sample: { debug: 1 } })
  })

  it('is what the spool holds, and what a refused event is set aside as', async () => {
    await using shipping = await startShipping()
    await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-transform-'))
    shipping.emulator.faults.rejectEvents(({ n }) => n === 1, 'no')
    const refused: unknown[] = []
    const shipper = shipping.ship({
      spool: { directory: directory.path },
      durability: 'disk',
      transform: ({ secret, ...event }) => event,
      onRejected: event => refused.push(event),
    })
    shipper.ship({ level: 'info', secret: 'do not ship', n: 0 })
    shipper.ship({ level: 'info', secret: 'do not ship', n: 1 })
    const spooled = await filesIn(directory.path)
    expect(spooled).toContain('"n":1')
    await shipper.flush()
    const setAside = await filesIn(directory.path)
    expect(setAside).toContain('"n":1')
    expect(refused).toMatchObject([{ n: 1 }])
    expect(shipping.emulator.events('d')).toMatchObject([{ n: 0 }])
    const texts = [spooled, setAside, JSON.stringify(refused), ...shipping.emulator.lines('d')]
    expect(texts.join()).not.toContain('do not ship')
  })
})

async function filesIn(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  return (await Promise.all(files.map(file => readFile(file, 'utf8')))).join('\n')
}
