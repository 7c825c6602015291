import { resourceFromAttributes } from '@opentelemetry/resources'
import { LoggerProvider } from '@opentelemetry/sdk-logs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import winston from 'winston'
import { startEmulator } from '../src/emulator.ts'
import { uidOf as sentUidOf } from '../src/numbered-uid.ts'
import { LogferryLogRecordProcessor } from '../src/otel.ts'
import { IdentityStamper } from '../src/record/identity.ts'
import { UidSequence } from '../src/record/uid-sequence.ts'
import { LogferryTransport } from '../src/winston.ts'
import { runScript } from './support/run-script.ts'
import { startShipping } from './support/shipping.ts'

type Fields = Record<string, unknown>

/** Returns the uid of an event, wherever the event has it. */
function uidOf(event: Fields): string {
  const nested = (event.log as { record?: { uid?: unknown } } | undefined)?.record?.uid
  return String(nested ?? event['log.record.uid'])
}

const numberOf = (uid: string) => Number(uid.slice(14))
const inOrder = (numbers: readonly number[]) => [...numbers].sort((one, other) => one - other)
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1)

describe('identify', () => {
  it('gives each event a uid, with numbers from 1 on and without gaps', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ identify: true, maxBatchEvents: 100 })
    for (let n = 1; n <= 1200; n++) shipper.ship({ n, nested: { a: 1 } })
    await shipper.flush()
    const events = shipping.emulator.events('d')
    const uids = events.map(uidOf)
    expect(new Set(uids.map(uid => uid.slice(0, 14))).size).toBe(1)
    for (const uid of uids) expect(uid).toMatch(/^[0-9a-z]{13}-[1-9]\d*$/)
    for (const event of events) expect(numberOf(uidOf(event))).toBe(event.n)
    expect(inOrder(uids.map(numberOf))).toEqual(upTo(1200))
    const [line = ''] = shipping.emulator.lines('d').filter(text => text.includes('"n":1,'))
    expect(line).toMatch(/^\{"_time":"[^"]+","log":\{"record":\{"uid":"\w{13}-1"\}\},"n":1,"nested":\{"a":1\}\}$/)
  })

  it.each([
    ['a configured size', 512, 100],
    ['the default size', 1_000_000, 100_000],
  ])('keeps the uid that an event brings along if the event is cut to %s', async (_, maxEventBytes, fieldCount) => {
    class Job {
      log() {}
    }
    await using shipping = await startShipping()
    const shipper = shipping.ship({ identify: true, maxEventBytes })
    const many = Object.fromEntries(upTo(fieldCount).map(n => [`field ${n}`, 'x'.repeat(30)]))
    shipper.ship({ ...many, 'log.record.uid': 'mine' })
    shipper.ship({ ...many, log: { record: { uid: 'mine' } } })
    shipper.ship(Object.assign(new Job(), many))
    await shipper.flush()
    const events = shipping.emulator.events('d')
    expect(events.map(uidOf).sort()).toEqual([expect.stringMatching(/^\w{13}-1$/), 'mine', 'mine'])
    for (const event of events) expect(event.logferry).toMatchObject({ cut: true })
  })

  it('gives none without the option', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    shipper.ship({ n: 1 })
    await shipper.flush()
    expect(Object.keys(shipping.emulator.events('d')[0] ?? {})).toEqual(['_time', 'n'])
  })

  it('differs from shipper to shipper', async () => {
    await using shipping = await startShipping()
    for (let n = 0; n < 2; n++) {
      const shipper = shipping.ship({ identify: true })
      shipper.ship({ n })
      await shipper.flush()
    }
    const [one, other] = shipping.emulator.events('d').map(uidOf)
    expect(one?.slice(13)).toBe('-1')
    expect(other?.slice(13)).toBe('-1')
    expect(one).not.toBe(other)
  })

  it.each<[string, Fields, (number: number) => Fields]>([
    ['a timestamp of its own', { _time: 'then', n: 1 }, () => ({ _time: 'then', n: 1 })],
    ['a field log', { log: 'a text', n: 1 }, () => ({ log: 'a text', n: 1 })],
    ['a field log with a record', { log: { record: { id: 5 } } }, () => ({ log: { record: { id: 5 } } })],
    ['both', { _time: 'then', log: {} }, () => ({ _time: 'then', log: {} })],
    ['no field', {}, () => ({})],
    ['no JSON object', [1] as unknown as Fields, () => ({ body: [1] })],
  ])('leaves an event with %s as it is', async (_, event, expected) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ identify: true })
    shipper.ship(event)
    await shipper.flush()
    const [arrived = {}] = shipping.emulator.events('d')
    expect(uidOf(arrived)).toMatch(/-1$/)
    expect(arrived).toMatchObject(expected(1))
    const [line = ''] = shipping.emulator.lines('d')
    expect(line.split('"_time"')).toHaveLength(2)
    expect(line.split('"log":')).toHaveLength(line.includes('"log.record.uid"') && !('log' in event) ? 1 : 2)
  })

  it('has its place beside a timestamp in the field log', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ identify: true, timeField: 'log' })
    shipper.ship({ n: 1 })
    await shipper.flush()
    const [line = ''] = shipping.emulator.lines('d')
    expect(line).toMatch(/^\{"log":"20[^"]*Z","log\.record\.uid":"\w{13}-1","n":1\}$/)
  })

  it('an event that throws when it is read has a uid nevertheless', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ identify: true })
    const event = {
      n: 1,
      get log() {
        throw new Error('no')
      },
    }
    shipper.ship(event)
    await shipper.flush()
    expect(uidOf(shipping.emulator.events('d')[0] ?? {})).toMatch(/-1$/)
  })

  it.each<[string, Fields]>([
    ['nested', { log: { record: { uid: 'mine' } } }],
    ['dotted', { 'log.record.uid': 'mine' }],
  ])('keeps the uid that an event has: %s', async (_, fields) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ identify: true })
    shipper.ship({ n: 0, ...fields })
    shipper.ship({ n: 1 })
    await shipper.flush()
    const [own = {}, other = {}] = shipping.emulator.events('d')
    expect(own).toEqual({ _time: expect.any(String), n: 0, ...fields })
    expect(uidOf(other)).toMatch(/-1$/) // the number was not used up
  })

  it('identifies events of Winston', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ identify: true })
    const formats = [winston.format.json(), winston.format.simple()]
    for (const format of formats) {
      const logger = winston.createLogger({ format, transports: [new LogferryTransport({ shipper })] })
      logger.info('hello', { n: 1 })
    }
    await shipper.flush()
    const events = shipping.emulator.events('d')
    expect(events.map(uidOf).map(numberOf)).toEqual([1, 2])
    expect(events).toMatchObject([
      { message: 'hello', n: 1 },
      { message: 'hello', n: 1 },
    ])
  })

  it.each<[string, Fields]>([
    ['a dotted name in a group', { log: { 'record.uid': 'mine' } }],
    ['a group with a dotted name', { 'log.record': { uid: 'mine' } }],
  ])('keeps a uid in %s', async (_, fields) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ identify: true })
    shipper.ship({ n: 0, ...fields })
    await shipper.flush()
    expect(shipping.emulator.events('d')).toEqual([{ _time: expect.any(String), n: 0, ...fields }])
  })

  it('keeps a uid in attributes beside a value with the name of its group', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ identify: true })
    const processor = new LogferryLogRecordProcessor({ shipper })
    const logger = new LoggerProvider({ processors: [processor] }).getLogger('l')
    logger.emit({ body: 'own', attributes: { 'log.record': 'x', 'log.record.uid': 'mine' } })
    await shipper.flush()
    const [event] = shipping.emulator.events('d')
    expect(event).not.toHaveProperty('log')
    expect(sentUidOf(event)).toBe('mine')
  })

  it('identifies records of OpenTelemetry, and keeps the uid in their attributes', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ identify: true })
    const provider = new LoggerProvider({ processors: [new LogferryLogRecordProcessor({ shipper })] })
    const logger = provider.getLogger('test')
    logger.emit({ body: 'one', attributes: { 'http.route': '/' } })
    logger.emit({ body: 'own', attributes: { 'log.record.uid': 'mine' } })
    logger.emit({ body: 'two', attributes: { 'log.iostream': 'stdout' } })
    await shipper.flush()
    const [one = {}, own = {}, two = {}] = shipping.emulator.events('d')
    expect(uidOf(one)).toMatch(/-1$/)
    expect(own).toMatchObject({ message: 'own', attributes: { log: { record: { uid: 'mine' } } } })
    expect(own.log).toBeUndefined()
    expect(uidOf(two)).toMatch(/-2$/)
  })

  it('uses no number for an event that is not accepted', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ identify: true, maxBatchBytes: 4096, maxBufferedBytes: 32_768 })
    let accepted = 0
    const text = 'x'.repeat(500)
    for (let n = 0; n < 500; n++) if (shipper.ship({ n, text })) accepted++
    expect(shipper.stats().dropped).toBeGreaterThan(100)
    await shipper.flush()
    for (let n = 0; n < 10; n++) if (shipper.ship({ n: 1000 + n })) accepted++
    await shipper.flush()
    const numbers = shipping.emulator.events('d').map(event => numberOf(uidOf(event)))
    const summaries = numbers.length - accepted // events that sum up the drops
    expect(inOrder(numbers)).toEqual(upTo(accepted + summaries))
  })

  it('uses no number twice where an event logs another while it is read, and is dropped then', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ identify: true, maxBatchBytes: 4096, maxBufferedBytes: 32_768 })
    const text = 'x'.repeat(3000)
    for (let round = 0; round < 20; round++) {
      shipper.ship({
        level: 'info',
        get inner() {
          shipper.ship({ level: 'error', n: 'inner' })
          return text // mostly, memory has no room for this text
        },
      })
    }
    expect(shipper.stats().dropped).toBeGreaterThan(0)
    await shipper.flush()
    for (let n = 0; n < 30; n++) shipper.ship({ n })
    await shipper.flush()
    const numbers = shipping.emulator.events('d').map(event => numberOf(uidOf(event)))
    expect(inOrder(numbers)).toEqual(upTo(numbers.length))
  })

  it('uses no number and no time twice where redacting a resource logs another event', async () => {
    await using shipping = await startShipping()
    const censor = () => {
      shipper.ship({ message: 'redacted' })
      return '*'
    }
    const shipper = shipping.ship({ identify: true, redact: { paths: ['resource.token'], censor } })
    const resource = resourceFromAttributes({ token: 'x' })
    const processors = [new LogferryLogRecordProcessor({ shipper })]
    const logger = new LoggerProvider({ resource, processors }).getLogger('test')
    logger.emit({ body: 'one' })
    logger.emit({ body: 'two' })
    await shipper.flush()
    const events = shipping.emulator.events('d')
    expect(inOrder(events.map(event => numberOf(uidOf(event))))).toEqual(upTo(3))
    expect(new Set(events.map(({ _time }) => _time)).size).toBe(3)
  })
})

describe('log calls where the stack ends', () => {
  it('leave no gap and no double', { timeout: 60_000 }, async () => {
    await using emulator = await startEmulator()
    const { stdout } = await runScript(
      `
      import { createShipper } from 'logferry'
      const shipper = createShipper({ identify: true, maxBatchEvents: 150, flushTimeoutMs: 20_000 })
      shipper.on('warning', () => {})
      let left = 0
      function recur() {
        try { recur() } catch {}
        if (left-- > 0) try { shipper.ship({ n: left }) } catch {}
      }
      for (let round = 0; round < 12; round++) {
        shipper.ship({ n: "opens a batch" })
        left = [500, 1000, 2000][round % 3]
        recur()
        await new Promise(resolve => setImmediate(resolve))
      }
      for (let n = 0; n < 50; n++) shipper.ship({ n })
      await shipper.flush()
      const { accepted, dropped, delivered } = shipper.stats()
      console.log(JSON.stringify({ accepted, dropped, delivered }))`,
      { LOGFERRY_URL: emulator.url, LOGFERRY_TOKEN: emulator.token, LOGFERRY_DATASET: 'd' },
    )
    const { accepted, dropped, delivered } = JSON.parse(stdout)
    expect(accepted).toBe(dropped + delivered)
    expect(dropped).toBeGreaterThan(100)
    expect(delivered).toBeGreaterThan(100)
    const numbers = emulator.events('d').map(event => numberOf(uidOf(event)))
    expect(inOrder(numbers)).toEqual(upTo(delivered))
  })
})

describe('the head of a line', () => {
  it('shows each number, in whatever order they come', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.nat({ max: 2000 }), fc.maxSafeNat()), { minLength: 1 }), numbers => {
        const stamper = new IdentityStamper('_time', new UidSequence('0123456789abc'))
        for (const number of numbers) {
          const head = Buffer.from(stamper.head(number, 1_700_000_000_000)).toString()
          expect(head).toMatch(/^\{"_time":"20[^"]*Z","log":/)
          expect(head.endsWith(`,"log":{"record":{"uid":"0123456789abc-${number}"}}`)).toBe(true)
        }
      }),
    )
  })
})

describe('numbers', () => {
  it('have no gap and no double, whatever fails and whatever is logged within', () => {
    type Call = { readonly isAccepted: boolean; readonly inner: readonly Call[] }
    const callWithin = (depth: number): fc.Arbitrary<Call> =>
      fc.record({
        isAccepted: fc.boolean(),
        inner: depth === 8 ? fc.constant([]) : fc.array(callWithin(depth + 1), { maxLength: 2 }),
      })
    fc.assert(
      fc.property(fc.array(callWithin(1), { maxLength: 5 }), calls => {
        const uids = new UidSequence('0123456789abc')
        const accepted: number[] = []
        const run = ({ isAccepted, inner }: Call): void => {
          const outer = uids.current
          uids.current = 0
          const number = uids.take()
          for (const one of inner) run(one)
          if (isAccepted) accepted.push(number)
          else uids.spare[uids.spareCount++] = uids.current
          uids.current = outer
        }
        for (const one of calls) run(one)
        expect(new Set(accepted).size).toBe(accepted.length)
        expect(uids.spareCount).toBeLessThanOrEqual(9)
        const spare = [...uids.spare.subarray(0, uids.spareCount)]
        expect(inOrder([...accepted, ...spare])).toEqual(upTo(uids.next - 1))
      }),
    )
  })
})
