import { propertyOf } from '../own-properties.ts'
import { openBatchBytes, reserveStack } from '../stack-reserve.ts'
import { bareObject } from './bare-object.ts'
import { noteScope } from './both-ways.ts'
import { eventToJson } from './event-to-line.ts'
import { nestAttributes } from './nested.ts'
import type { OtelResource, OtelScope } from './otel-record.ts'

/** Maximum bytes of a resource, and of a scope. Each line repeats both, so larger ones are cut. */
const maxResourceBytes = 65_536
const maxScopeBytes = 16_384

/**
 * Tails by resource, then by scope. Both are stable objects of the SDK: one resource per provider, one scope per
 * logger.
 */
const tails = new WeakMap<object, WeakMap<object, Uint8Array>>()

/**
 * Returns the last bytes of a record's line: `,"resource":{…},"scope":{…}}`, or only the final `}` if both are empty. A
 * field that throws does not make this function throw. The tail is remembered, unless attributes of the resource are
 * still being detected.
 *
 * @throws RangeError if too little stack is left
 */
export function resourceTail(resource: OtelResource, scope: OtelScope): Uint8Array {
  const known = tails.get(resource)?.get(scope)
  if (known !== undefined) return known
  reserveStack(openBatchBytes) // members that are missing for want of stack must not be remembered
  const tail = Buffer.from(`${resourceMember(resource)}${scopeMember(scope)}}`)
  if (isFinal(resource, scope)) {
    const ofResource = tails.get(resource) ?? new WeakMap()
    tails.set(resource, ofResource.set(scope, tail))
  } else takeInLateAttributes(resource)
  return tail
}

/** Resources that have been asked to wait for their late attributes. */
const asked = new WeakSet<OtelResource>()

/** Makes a resource take in the attributes that are detected late. Without being asked to wait for them, it never does. */
function takeInLateAttributes(resource: OtelResource): void {
  if (!isObject(resource) || asked.has(resource)) return
  asked.add(resource)
  void (async () => resource.waitForAsyncAttributes?.())().then(undefined, () => {})
}

const fieldsOfTails = new WeakMap<Uint8Array, object>()

/** Returns the fields that a tail adds to an event. The object is the same each time. */
export function tailFields(tail: Uint8Array): object {
  let fields = fieldsOfTails.get(tail)
  if (fields === undefined) {
    fields = parseTail(tail)
    fieldsOfTails.set(tail, fields)
  }
  return fields
}

const frozenFieldsOfTails = new WeakMap<Uint8Array, Readonly<Record<string, unknown>>>()

/** Returns the fields that a tail adds to an event, frozen throughout. The object is the same each time. */
export function frozenTailFields(tail: Uint8Array): Readonly<Record<string, unknown>> {
  let fields = frozenFieldsOfTails.get(tail)
  if (fields === undefined) {
    fields = parseTail(tail, (_, value) => Object.freeze(value)) as Readonly<Record<string, unknown>>
    frozenFieldsOfTails.set(tail, fields)
  }
  return fields
}

/** The tail of an OpenTelemetry event that has resource and scope among its own fields. */
export const emptyTail: Uint8Array = Buffer.from('}')

/** Parses a tail: a new object each time. */
export function parseTail(tail: Uint8Array, reviver?: (name: string, value: unknown) => unknown): object {
  return JSON.parse(`{${Buffer.from(tail).toString('utf8').replace(/^,/, '')}`, reviver) as object
}

function resourceMember(resource: OtelResource): string {
  const fields = () => {
    const nested = nestAttributes(knownAttributes(resource))
    const { schemaUrl } = resource
    return typeof schemaUrl === 'string' && schemaUrl !== '' ? { schema_url: schemaUrl, ...nested } : nested
  }
  return member('resource', fields, maxResourceBytes)
}

/**
 * Returns the attributes of a resource that have been detected. The SDK reports an error for each read of `attributes`
 * while others are still being detected, but not for a read of the raw attributes. Of two with one name, the first counts.
 */
function knownAttributes(resource: OtelResource): object {
  if (resource.asyncAttributesPending !== true || resource.getRawAttributes === undefined) return resource.attributes
  const known = bareObject()
  for (const [name, value] of resource.getRawAttributes()) {
    if (value != null && !isThenable(value) && !Object.hasOwn(known, name)) known[name] = value
  }
  return known
}

function isThenable(value: unknown): boolean {
  return isObject(value) && typeof (value as { then?: unknown }).then === 'function'
}

function scopeMember(scope: OtelScope): string {
  const fields = () => {
    const { name, version, schemaUrl } = scope
    const attributes = propertyOf(scope, 'attributes') as OtelScope['attributes']
    noteScope(name)
    return {
      name,
      version,
      schema_url: schemaUrl,
      attributes: attributes && nestAttributes(attributes),
      dropped_attributes_count: propertyOf(scope, 'droppedAttributesCount') || undefined,
    }
  }
  return member('scope', fields, maxScopeBytes)
}

/** Returns `,"name":{…}`, or an empty text if the object has no fields or cannot be read. */
function member(name: string, read: () => object, maxBytes: number): string {
  try {
    const json = eventToJson(read(), maxBytes, { stubbed: 0, cut: 0 }, 'text')
    return json === '{}' ? '' : `,"${name}":${json}`
  } catch {
    return ''
  }
}

function isFinal(resource: OtelResource, scope: OtelScope): boolean {
  try {
    return isObject(resource) && isObject(scope) && resource.asyncAttributesPending !== true
  } catch {
    return false
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}
