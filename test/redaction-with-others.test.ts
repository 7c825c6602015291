/** Redaction together with the options that keep, fold, count or number events: the secret appears nowhere. */
import { describe, expect, it } from 'vitest'
import type { ShipperOptions } from '../src/index.ts'
import { type Shipping, startShipping } from './support/shipping.ts'

const secret = 'hunter2'
const options: ShipperOptions = {
  redact: { paths: ['password'], censor: 'hash', hashKey: '0123456789abcdef' },
  redactText: [/hunter\d/g],
}

const received = ({ emulator }: Shipping) =>
  emulator
    .datasets()
    .flatMap(dataset => emulator.lines(dataset))
    .join('\n')

describe('redaction', () => {
  it('reaches events that are held until their trace fails, once', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ ...options, hold: { below: 'error' } })
    const trace = { trace_id: 'a'.repeat(32), span_id: 'b'.repeat(16), password: secret }
    shipper.ship({ level: 'info', message: `logs in with ${secret}`, ...trace })
    shipper.ship({ level: 'error', message: 'failed', ...trace })
    expect(await shipper.flush()).toMatchObject({ complete: true })
    const events = shipping.emulator.events('d')
    expect(events.map(({ level }) => level)).toEqual(['info', 'error'])
    expect(new Set(events.map(({ password }) => password)).size).toBe(1) // hashed once, even if the event was held
    expect(received(shipping)).not.toContain(secret)
  })

  it('reaches the summary of repeated events', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ ...options, collapse: {} })
    for (let n = 0; n < 3; n++) shipper.ship({ level: 'error', message: `no ${secret}`, password: secret })
    await shipper.flush()
    const events = shipping.emulator.events('d')
    expect(events).toHaveLength(2)
    expect(new Set(events.map(({ password }) => password)).size).toBe(1)
    expect(received(shipping)).not.toContain(secret)
  })

  it.each([true, false])('reaches groups that become one text (with a license: %s)', async hasLicense => {
    await using shipping = await startShipping({ org: { license: { maxFields: 1000 } } })
    const { orgId, accessToken } = shipping.emulator
    const limits = hasLicense ? { limits: { orgId, accessToken } } : {}
    const shipper = shipping.ship({ ...options, ...limits, fields: { asText: ['labels.*'] } })
    shipper.ship({ message: 'm', labels: { password: secret, note: `it is ${secret}` }, password: secret })
    await shipper.flush()
    const [event] = shipping.emulator.events('d') as [{ labels: string; password: string }]
    expect(typeof event.labels).toBe('string')
    expect(JSON.parse(event.labels).password).toBe(event.password)
    expect(received(shipping)).not.toContain(secret)
  })

  it('finds a secret in an object that was logged before without one, beside a guard of fields', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ ...options, fields: { max: 50 } })
    const session: Record<string, unknown> = { level: 'info', message: 'begins', user: { id: 7 } }
    shipper.ship(session)
    session.password = secret
    session.message = `goes on with ${secret}`
    shipper.ship(session)
    await shipper.flush()
    expect(shipping.emulator.events('d')).toMatchObject([{ message: 'begins', user: { id: 7 } }, { user: { id: 7 } }])
    expect(received(shipping)).not.toContain(secret)
    expect(session.password).toBe(secret)
  })

  it('keeps secrets out of the log statements of usage()', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ ...options })
    for (let n = 0; n < 2000; n++) shipper.ship({ message: `${secret} came and went` })
    const { statements } = shipper.usage()
    expect(statements).toHaveLength(1)
    expect(JSON.stringify(statements)).not.toContain(secret)
    const nameless = shipping.ship({ redact: ['message'] })
    for (let n = 0; n < 2000; n++) nameless.ship({ message: 'a quiet word' })
    expect(JSON.stringify(nameless.usage())).not.toContain('quiet')
    await Promise.all([shipper.flush(), nameless.flush()])
  })

  it('leaves the numbers of identified events without a gap, whatever was held, collapsed or dropped', async () => {
    await using shipping = await startShipping()
    const censor = (value: unknown) => {
      if (value === 'bad') throw new Error('no')
      return 'x'
    }
    const shipper = shipping.ship({
      redact: { paths: ['password'], censor },
      identify: true,
      hold: { below: 'warn' },
      collapse: {},
    })
    const trace_id = 'c'.repeat(32)
    for (let n = 0; n < 20; n++) {
      shipper.ship({ level: 'info', message: `held ${n}`, trace_id })
      shipper.ship({ level: 'warn', message: 'same', password: n % 5 === 0 ? 'bad' : 'good' })
      shipper.ship({ level: 'warn', message: `other ${n}`, password: n % 7 === 0 ? 'bad' : 'good' })
    }
    shipper.ship({ level: 'error', message: 'failed', trace_id })
    await shipper.flush()
    await shipper.close()
    const uids = shipping.emulator
      .events('d')
      .map(event => (event as { log: { record: { uid: string } } }).log.record.uid)
    const numbers = uids.map(uid => Number(uid.split('-').at(-1))).sort((a, b) => a - b)
    expect(numbers).toEqual(numbers.map((_, i) => (numbers[0] as number) + i))
    const { accepted, delivered, dropped, pending } = shipper.stats()
    expect(accepted).toBe(delivered + dropped + pending)
    expect(numbers).toHaveLength(delivered)
  })
})
