type Fields = Readonly<Record<string, unknown>>

const maxSourceChars = 200

/**
 * Returns the name of the program that logged an event: the service of its resource (OpenTelemetry), or its field
 * `service`, which is a text in the Winston manual. Returns `null` if the event names no program.
 */
export function sourceOf(event: Fields): string | null {
  const { resource, service, attributes } = event
  const source =
    serviceName(resource) ?? serviceName(event) ?? (isText(service) ? service : undefined) ?? serviceName(attributes)
  if (source === undefined) return null
  return source.length > maxSourceChars ? source.slice(0, maxSourceChars).toWellFormed() : source
}

function serviceName(fields: unknown): string | undefined {
  if (!isObject(fields)) return undefined
  const name = isObject(fields.service) ? fields.service.name : fields['service.name']
  return isText(name) ? name : undefined
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}
