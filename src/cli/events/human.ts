import type { Level } from '../../dev/protocol.ts'
import { counted } from '../../text/counted.ts'
import { toVisibleText } from '../../text/visible-text.ts'
import type { Style, StyledLine, StyledText } from '../print.ts'
import { ExactNumber, eachField, type Field, parseEvent, toBriefJson, valueAt } from './fields.ts'
import type { ShownEvent } from './shown-event.ts'

export interface HumanOptions {
  /** Paths of the fields to show; `undefined` shows those of each event. */
  readonly fields: readonly string[] | undefined
  readonly isUtc: boolean
  /** True if each repeat has a line of its own. */
  readonly showsRepeats: boolean
}

/** Mark, word and style of each level. A mark and a word stand for a level without colors, too. */
const looks: Readonly<Record<Level, readonly [mark: string, word: string, style: Style]>> = {
  fatal: ['✖', 'FATAL', 'fatal'],
  error: ['●', 'ERROR', 'red'],
  warn: ['▲', 'WARN ', 'yellow'],
  info: ['○', 'INFO ', 'blue'],
  debug: ['·', 'DEBUG', 'dim'],
  trace: ['·', 'TRACE', 'dim'],
}

const maxMessageChars = 2000
const maxNameChars = 40
const maxValueChars = 120
const maxFieldsShown = 12
const maxStackLines = 12
const maxStackLineChars = 200
const traceChars = 8
const indent = ' '.repeat('10:42:07.123 '.length)
const stackName = /(?:^|[._])stack(?:_?trace)?$/i

/** Writes events for people: a line for the event, and a line for its fields. */
export class HumanFormat {
  readonly #options: HumanOptions
  readonly #today: string
  #datasetChars = 8
  #day: string

  /** @param now the present time: an event of another day has a line with its date before it */
  constructor(options: HumanOptions, now: Date) {
    this.#options = options
    this.#day = dayOf(now, options.isUtc)
    this.#today = this.#day
  }

  /** Writes events that are printed together. Neighbors that repeat are one line with their number. */
  *lines(events: readonly ShownEvent[]): Generator<StyledLine> {
    for (let at = 0; at < events.length; ) {
      let end = at + 1
      while (!this.#options.showsRepeats && end < events.length && isRepeat(events[at], events[end])) end++
      yield* this.#linesOf(events[end - 1] as ShownEvent, end - at)
      at = end
    }
  }

  #linesOf(event: ShownEvent, count: number): StyledLine[] {
    const lines: StyledLine[] = []
    const time = new Date(event.at)
    const day = dayOf(time, this.#options.isUtc)
    if (day !== this.#day) lines.push([dim(`── ${day}${day === this.#today ? ' (today)' : ''} ──`)])
    this.#day = day
    const dataset = shortened(event.dataset, maxNameChars)
    this.#datasetChars = Math.max(this.#datasetChars, dataset.length)
    lines.push([
      dim(`${clock(time, this.#options.isUtc)} `),
      levelOf(event.level),
      ' ',
      { style: 'cyan', text: dataset.padEnd(this.#datasetChars) },
      '  ',
      shortened(event.message, maxMessageChars),
      ...(count > 1 ? [dim(` ×${count.toLocaleString('en')}`)] : []),
    ])
    this.#addFields(event, lines)
    return lines
  }

  #addFields(event: ShownEvent, lines: StyledLine[]): void {
    const parsed = parseEvent(event.line)
    if (parsed === undefined) return
    const chosen = this.#options.fields
    const { shown, stacks, more } = chosen === undefined ? firstFields(parsed, event) : chosenFields(parsed, chosen)
    const parts = shown.map(({ path, value }): [StyledText, string] => [
      dim(`${shortened(path, maxNameChars)}=`),
      toText(value),
    ])
    if (chosen === undefined && event.source !== null && event.source !== event.dataset) {
      parts.unshift([dim('source='), shortened(event.source, maxNameChars)])
    }
    if (chosen === undefined && event.traceId !== null) {
      parts.push([dim('trace='), shortened(event.traceId.slice(0, traceChars), maxNameChars)])
    }
    const joined = parts.flatMap(([name, value], index) => [index === 0 ? indent : ' ', name, value])
    if (joined.length > 0) lines.push(more > 0 ? [...joined, dim(` … ${more} more`)] : joined)
    // Loggers often write the same stack twice, such as in `stack` and in `exception.stacktrace`.
    for (const stack of new Set(stacks.map(({ value }) => String(value)))) addStack(stack, lines)
  }
}

interface FieldsToShow {
  readonly shown: readonly Field[]
  readonly stacks: readonly Field[]
  /** Number of fields that are left out. */
  readonly more: number
}

function firstFields(parsed: object, event: ShownEvent): FieldsToShow {
  const shown: Field[] = []
  const stacks: Field[] = []
  let more = 0
  for (const field of eachField(parsed)) {
    if (isShownAbove(field, event)) continue
    const fields = isStack(field) ? stacks : shown
    if (fields.length < maxFieldsShown) fields.push(field)
    else more++
  }
  return { shown, stacks, more }
}

function chosenFields(parsed: object, paths: readonly string[]): FieldsToShow {
  const fields = paths.map(path => ({ path, value: valueAt(parsed, path) })).filter(({ value }) => value !== undefined)
  return { shown: fields.filter(field => !isStack(field)), stacks: fields.filter(isStack), more: 0 }
}

function isRepeat(one: ShownEvent | undefined, other: ShownEvent | undefined): boolean {
  return one?.dataset === other?.dataset && one?.level === other?.level && one?.message === other?.message
}

function levelOf(level: Level | null): string | StyledText {
  if (level === null) return '       '
  const [mark, word, style] = looks[level]
  return { style, text: `${mark} ${word}` }
}

function isShownAbove({ path, value }: Field, { message, traceId, level }: ShownEvent): boolean {
  if (path === '_time') return true
  if (typeof value !== 'string') return false
  if (path === 'level') return value.toLowerCase() === level
  return value !== '' && (value === traceId || value === message)
}

function isStack({ path, value }: Field): boolean {
  return typeof value === 'string' && value.includes('\n') && stackName.test(path)
}

function addStack(stack: string, lines: StyledLine[]): void {
  const all = stack.split('\n')
  for (const line of all.slice(0, maxStackLines)) {
    lines.push([`${indent}  `, dim(shortened(line.trimEnd(), maxStackLineChars))])
  }
  if (all.length > maxStackLines)
    lines.push([`${indent}  `, dim(`… ${counted(all.length - maxStackLines, 'more line')}`)])
}

function toText(value: unknown): string {
  if (value instanceof ExactNumber) return shortened(value.text, maxValueChars)
  if (typeof value !== 'string') return shortened(toBriefJson(value, maxValueChars), maxValueChars)
  const text = shortened(value, maxValueChars)
  return text === '' || /[\s="]/.test(text) ? JSON.stringify(text) : text
}

function shortened(text: string, maxChars: number): string {
  return toVisibleText(text.length > maxChars ? `${text.slice(0, maxChars)}…` : text)
}

function dim(text: string): StyledText {
  return { style: 'dim', text }
}

/** Returns the time of day: `10:42:07.123`. */
function clock(time: Date, isUtc: boolean): string {
  if (Number.isNaN(time.getTime())) return '--:--:--.---'
  const [hours, minutes, seconds, ms] = isUtc
    ? [time.getUTCHours(), time.getUTCMinutes(), time.getUTCSeconds(), time.getUTCMilliseconds()]
    : [time.getHours(), time.getMinutes(), time.getSeconds(), time.getMilliseconds()]
  return `${two(hours)}:${two(minutes)}:${two(seconds)}.${String(ms).padStart(3, '0')}`
}

function dayOf(time: Date, isUtc: boolean): string {
  if (Number.isNaN(time.getTime())) return 'no time'
  const [year, month, day] = isUtc
    ? [time.getUTCFullYear(), time.getUTCMonth(), time.getUTCDate()]
    : [time.getFullYear(), time.getMonth(), time.getDate()]
  return `${String(year).padStart(4, '0')}-${two(month + 1)}-${two(day)}`
}

function two(number: number): string {
  return String(number).padStart(2, '0')
}
