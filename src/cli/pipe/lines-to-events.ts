import { type Severity, severityOfLevel } from '../../accounting/severity.ts'
import { type IntakeEvent, intakeEvent } from '../../shipper/intake/intake-event.ts'
import { withoutByteOrderMark } from '../../text/without-byte-order-mark.ts'
import { systemTimeMs } from '../../time.ts'
import { severityOf } from './severity-of.ts'
import { timeOf } from './time-of.ts'

/** The form of the lines: `auto` tells JSON objects from texts, line by line. */
export type LineFormat = 'auto' | 'json' | 'text'

export interface LinesToEventsOptions {
  readonly format: LineFormat
  /** Level of events without one. */
  readonly level: string | undefined
  /** Fields that each event gets, unless it has them. */
  readonly fields: ReadonlyMap<string, string>
  /** The only field that holds the time of an event; `undefined` for the usual fields. */
  readonly timeField: string | undefined
}

/**
 * Makes an event of each line. A line that is a JSON object is the event, and its text is kept. Any other line becomes
 * the message of an event.
 */
export class LinesToEvents {
  readonly #options: LinesToEventsOptions
  readonly #defaultSeverity: Severity
  /** The members that events get, by name. */
  readonly #members: ReadonlyMap<string, string>
  readonly #levelMember: string
  readonly #tail: Uint8Array
  readonly #tailWithLevel: Uint8Array
  /** Number of lines so far. */
  lines = 0
  /** Number of lines without any text. */
  blank = 0
  /** Number of lines that are no JSON object, although every line should be one. */
  notJson = 0
  /** Number of the first of these lines, counted from 1. */
  firstNotJson = 0

  constructor(options: LinesToEventsOptions) {
    const { level, fields } = options
    this.#options = options
    this.#defaultSeverity = severityOfLevel(level)
    this.#members = new Map([...fields].map(([name, value]) => [name, memberOf(name, value)]))
    this.#levelMember = level === undefined || fields.has('level') ? '' : memberOf('level', level)
    const members = [...this.#members.values()].join('')
    this.#tail = Buffer.from(`${members}}`)
    this.#tailWithLevel = Buffer.from(`${this.#levelMember}${members}}`)
  }

  /** Returns the event of the next line, or `undefined` if the line is blank. */
  next(line: string): IntakeEvent | undefined {
    this.lines++
    const trimmed = line.trim()
    if (trimmed === '') {
      this.blank++
      return undefined
    }
    const { format } = this.#options
    if (format === 'text') return this.#ofText(line)
    const object = jsonObjectIn(trimmed)
    if (object !== undefined) return this.#ofObject(object, trimmed)
    if (format === 'json' && ++this.notJson === 1) this.firstNotJson = this.lines
    return this.#ofText(line)
  }

  #ofObject(event: Readonly<Record<string, unknown>>, text: string): IntakeEvent {
    const severity = severityOf(event)
    const time = timeOf(event, this.#options.timeField) ?? systemTimeMs()
    const intake = intakeEvent(event, severity ?? this.#defaultSeverity, time)
    intake.resource = this.#tailFor(event, severity !== undefined || Object.hasOwn(event, 'level'))
    intake.preSerialized = isEmpty(event) ? undefined : text
    intake.keepsText = true
    return intake
  }

  #ofText(line: string): IntakeEvent {
    const event = { message: withoutByteOrderMark(line) }
    const intake = intakeEvent(event, this.#defaultSeverity, systemTimeMs())
    intake.resource = this.#tailFor(event, false)
    return intake
  }

  #tailFor(event: object, hasLevel: boolean): Uint8Array {
    for (const name of this.#members.keys()) if (Object.hasOwn(event, name)) return this.#partOfTail(event, hasLevel)
    return hasLevel ? this.#tail : this.#tailWithLevel
  }

  #partOfTail(event: object, hasLevel: boolean): Uint8Array {
    const missing = [...this.#members].filter(([name]) => !Object.hasOwn(event, name)).map(([, member]) => member)
    return Buffer.from(`${hasLevel ? '' : this.#levelMember}${missing.join('')}}`)
  }
}

function memberOf(name: string, value: string): string {
  return `,${JSON.stringify(name)}:${JSON.stringify(value)}`
}

function jsonObjectIn(text: string): Record<string, unknown> | undefined {
  if (!text.startsWith('{') || !text.endsWith('}')) return undefined
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return undefined
  }
}

function isEmpty(object: object): boolean {
  for (const _ in object) return false
  return true
}
