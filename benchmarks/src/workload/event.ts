import { type Meta, type ShapeName, shapeOf } from './shapes.ts'
import { type TextKind, textSource } from './text.ts'

/**
 * The events of a run. Each is made afresh for its log call, as an application does, and carries its number, so that one
 * that is missing, or there twice, is noticed.
 */
export interface Workload {
  readonly message: string
  meta(n: number): Meta
  /** The same, with level and message in it. */
  event(n: number): Meta
  /** Average size as JSON, in bytes. */
  readonly bytes: number
}

/** Name of the field with the number. No other text of an event holds a `#`, so a receiver finds it with one memchr. */
export const numberField = 'n#'

const message = 'order placed'
/** Below this an event has four fields, all flat. */
const fullBytes = 400

/** @param eventBytes size of an event as JSON, in bytes; met within a few per cent, from 80 */
export function workloadOf(eventBytes: number, text: TextKind): Workload {
  // Of 400 bytes there is no room for twelve fields and for text that does not compress.
  const makeMeta =
    eventBytes < fullBytes || (eventBytes === fullBytes && text === 'incompressible') ? smallMeta : fullMeta
  const baseBytes = averageBytes(n => ({ level: 'info', message, ...makeMeta(n) }))
  const fillBytes = eventBytes - baseBytes - ',"details":""'.length
  return workload(fillBytes < 16 ? makeMeta : filled(makeMeta, textSource(text, fillBytes)))
}

export function workloadOfShape(name: ShapeName): Workload {
  return workload(shapeOf(name))
}

function workload(meta: (n: number) => Meta): Workload {
  const event = (n: number): Meta => {
    const made = meta(n)
    made.level = 'info'
    made.message = message
    return made
  }
  return { message, meta, event, bytes: averageBytes(event) }
}

/** With level and message, twelve fields, some of them nested, of about 400 bytes as JSON. */
function fullMeta(n: number): Meta {
  return {
    'n#': n,
    service: 'checkout',
    host: 'ip-10-0-4-17.eu-central-1',
    version: '4.18.2',
    durationMs: (n % 997) / 8,
    isRetry: n % 16 === 0,
    tags: ['web', 'orders'],
    request: { id: requestId(n), method: 'POST', path: '/api/v1/orders', status: 201 },
    user: { id: 100_000 + (n % 5000), plan: 'team', country: 'BE' },
    order: { total: (n % 10_000) / 100, currency: 'EUR', items: [{ sku: 'A-1042', quantity: 2 + (n % 3) }] },
  }
}

function smallMeta(n: number): Meta {
  return { 'n#': n, user: 100_000 + (n % 5000) }
}

/** Sixteen hexadecimal digits that do not repeat for a while. */
function requestId(n: number): string {
  const high = (Math.imul(n, 0x9e3779b1) >>> 0) + 0x1_0000_0000
  const low = (Math.imul(n, 0x85ebca6b) >>> 0) + 0x1_0000_0000
  return high.toString(16).slice(1) + low.toString(16).slice(1)
}

function filled(makeMeta: (n: number) => Meta, text: () => string): (n: number) => Meta {
  return n => {
    const made = makeMeta(n)
    made.details = text()
    return made
  }
}

function averageBytes(event: (n: number) => Meta): number {
  const samples = 16
  let bytes = 0
  for (let index = 0; index < samples; index += 1) bytes += Buffer.byteLength(JSON.stringify(event(index * 9973)))
  return Math.round(bytes / samples)
}
