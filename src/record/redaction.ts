import type { ResolvedRedact } from '../options/resolve-redact.ts'
import { classOfThrown } from '../text/kind-of-thrown.ts'
import { bareObject } from './bare-object.ts'
import { Censor, NoCensorResult } from './censor.ts'
import { censored } from './censored.ts'
import { copyToLine, eventToLine, type Line } from './event-to-line.ts'
import { type Alterations, eventToPlain } from './event-to-plain.ts'
import { LineWriter, type RedactionRules } from './line-writer.ts'
import { effortOfLogCall, sparingly } from './log-calls.ts'
import { ownCopy } from './own-copy.ts'
import { isPlainObject, type NonFinite, type Plain, type PlainCopy, type PlainObject } from './plain.ts'
import { type Rule, Rules, type Ruling } from './redact-rule.ts'
import { TextMask } from './redact-text.ts'
import { parseTail } from './resource-tail.ts'

/** Maximum share of a line that a redacted resource may take. */
const maxTailShare = 0.5

const noPath = new Error('the path of a text is not known here')

/**
 * Makes lines without the values that the application has named as secret. One place does so for all events, at the
 * last moment. So nothing that was added to an event escapes, and no earlier step needs to know of redaction.
 *
 * Plain data is redacted while it is written. Any other event is first copied into plain data. The copy is redacted and
 * then cut to fit, so that no cut hides a part of a secret from the patterns.
 */
export class Redaction implements RedactionRules {
  readonly root: Rule | undefined
  readonly censor: Censor
  /** The error for which the last event could not be redacted. */
  failure: unknown
  /** The last of such errors. Later events do not reset it. */
  #lastFailure: unknown
  readonly #texts: TextMask | undefined
  readonly #needsPath: boolean
  readonly #writer: LineWriter
  /** True while the writer is in use. An accessor read during serialization may log. */
  #isTaken = false
  /** Events that were redacted before. A second time would hash their hashes. */
  readonly #redacted = new WeakSet<object>()
  #hasRedacted = false
  /** Redacted tails, by tail. */
  readonly #tails = new WeakMap<Uint8Array, Uint8Array>()

  constructor({ paths, ignoreCase, censor, texts }: ResolvedRedact) {
    this.root = new Rules(paths, { ignoresCase: ignoreCase, masksTexts: texts.length > 0 }).root
    this.censor = new Censor(censor)
    this.#needsPath = censor.kind === 'function'
    this.#texts = texts.length === 0 ? undefined : new TextMask(texts)
    this.#writer = new LineWriter(this)
  }

  /**
   * Returns the redacted line of an event, as `eventToLine` returns the line. Returns `undefined` if the event cannot
   * be redacted, and sets `failure`. The event must then be dropped.
   *
   * `written`, the text of the event as it was logged, is never used.
   */
  toLine(
    event: object,
    head: Uint8Array | undefined,
    tail: Uint8Array | undefined,
    maxBytes: number,
    altered: Alterations,
    _written?: string,
    nonFinite?: NonFinite,
  ): Line | undefined {
    this.failure = undefined
    try {
      // The censor function may log, and the head of that event has the same bytes.
      const ownHead = this.#needsPath && head && tail && !this.#tails.has(tail) ? Buffer.from(head) : head
      const ownTail = tail && this.#tail(tail, maxBytes, altered)
      if (this.#hasRedacted && this.#redacted.has(event)) {
        return eventToLine(event, ownHead, ownTail, maxBytes, altered, undefined, nonFinite)
      }
      if (this.#isTaken) return this.#line(new LineWriter(this), event, ownHead, ownTail, maxBytes, altered, nonFinite)
      this.#isTaken = true
      try {
        return this.#line(this.#writer, event, ownHead, ownTail, maxBytes, altered, nonFinite)
      } finally {
        this.#isTaken = false
      }
    } catch (error) {
      if (this.isFailure(error)) return undefined
      throw error
    }
  }

  /**
   * Returns the redacted JSON of an event, parsed. `toLine` does not redact the result again.
   *
   * @throws whatever redacting throws
   */
  asSent(event: object, maxBytes: number, altered: Alterations, nonFinite: NonFinite): object {
    return sparingly(() => this.#parsed(this.#lineOf(event, maxBytes, altered, nonFinite)))
  }

  /**
   * Returns a copy of the event if it is plain data without anything to redact; otherwise as `asSent`. The event itself
   * may have another value when it is read again, because a field may be an accessor.
   *
   * @throws whatever redacting throws
   */
  redacted(event: object, maxBytes: number, altered: Alterations, nonFinite: NonFinite): object {
    if (this.#redacted.has(event)) return event
    const copy = ownCopy(event)
    if (copy !== undefined && this.#leavesAsItIs(copy)) return copy
    return this.asSent(copy ?? event, maxBytes, altered, nonFinite)
  }

  /** True if nothing of a copy is redacted. Comparing the copy with the paths takes less time than writing its line. */
  #leavesAsItIs(copy: object): boolean {
    try {
      this.#begin()
      return this.#leaves(copy, this.root)
    } catch {
      return false // the censor has to replace a match
    }
  }

  #leaves(value: unknown, ruling: Ruling): boolean {
    if (ruling === undefined || value === undefined) return true
    if (ruling === censored) return false
    if (typeof value === 'string') return !ruling.masksTexts || this.maskAtOnce(value) === value
    if (typeof value !== 'object' || value === null) return true
    if (Array.isArray(value)) return value.every((item, i) => this.#leaves(item, ruling.item(i)))
    for (const name in value) {
      if (!this.#leaves((value as Record<string, unknown>)[name], ruling.member(name))) return false
    }
    return true
  }

  #lineOf(event: object, maxBytes: number, altered: Alterations, nonFinite: NonFinite): Line {
    const line = this.toLine(event, undefined, undefined, maxBytes, altered, undefined, nonFinite)
    if (line === undefined) throw this.failure
    return line
  }

  #parsed(line: Line): object {
    const sent = JSON.parse(line.bytes.toString('utf8', 0, line.length)) as object
    this.noteRedacted(sent)
    return sent
  }

  /** Notes that an event was made of an event that `asSent` has returned. */
  noteRedacted(event: object): void {
    this.#redacted.add(event)
    this.#hasRedacted = true
  }

  /** Notes a copy of an event, with fields that are not to be redacted. A redacted event is not redacted again. */
  noteCopied(copy: object, event: object): void {
    if (this.#redacted.has(event)) this.noteRedacted(copy)
  }

  /** True if the last event could not be redacted for this error, which may be any value: the application threw it. */
  isFailure(error: unknown): boolean {
    return Object.is(error, this.failure)
  }

  /** Describes the last failure, without values: an error's message could have one. */
  get problem(): string {
    const got = NoCensorResult.gotBy(this.#lastFailure)
    if (got !== undefined) return `redact.censor returned ${got}`
    const name = classOfThrown(this.#lastFailure)
    return this.#needsPath ? `redact.censor threw ${name}` : `redaction failed (${name})`
  }

  /** Masks a text that is printed, such as a warning. A text that cannot be masked is not printed. */
  maskText(text: string): string {
    try {
      this.#begin()
      return this.#texts?.mask(text, match => this.censor.ofMatch(match, '')) ?? text
    } catch {
      return '[redacted]'
    }
  }

  /**
   * True if the line of an event is without this field, although the event has it.
   *
   * @throws whatever the censor throws for the field
   */
  removes(event: object, name: string, value: unknown): boolean {
    if (!this.censor.mayRemove || !this.#isCensored(name) || this.#redacted.has(event)) return false
    if (this.censor.isRemoval) return true
    const { fields } = eventToPlain({ [name]: value }, Number.POSITIVE_INFINITY, effortOfLogCall(), {
      stubbed: 0,
      cut: 0,
    })
    this.censor.begin()
    return this.censor.of(fields[name] as Plain, memberPath('', name)) === undefined
  }

  /** True if a field of an event is redacted, whatever the names of the last event have cost. */
  #isCensored(name: string): boolean {
    this.root?.begin()
    return this.root?.member(name) === censored
  }

  /** Returns the timestamp that an event brings along as another event may repeat it; `undefined` if it is redacted. */
  shownTime(timeField: string, time: string | number): string | number | undefined {
    if (this.#isCensored(timeField)) return undefined
    return typeof time === 'number' ? time : this.maskText(time)
  }

  /** Returns the fields that a tail adds to an event, redacted. */
  tailFields(tail: Uint8Array): object {
    return parseTail(this.#redactedTail(tail))
  }

  /** Returns the fields of an event that name its log statement, redacted. */
  statementOf(event: object): object {
    const fields = event as Record<string, unknown>
    return Object.fromEntries(
      ['level', 'message', 'msg', 'event_name', 'event', 'name'].map(name => {
        const value = fields[name]
        const isShown = typeof value === 'string' && !this.#isCensored(name)
        return [name, isShown ? this.maskText(value) : undefined]
      }),
    )
  }

  maskAtOnce(text: string): string | undefined {
    const texts = this.#texts
    if (texts === undefined) return text
    const masked = texts.mask(text, match => {
      if (this.#needsPath) throw noPath
      return this.censor.ofMatch(match, '')
    })
    // An event of slow texts is likely to be cut, which takes another attempt: the time of this one must be short.
    return texts.isCut || texts.isSlow ? undefined : masked
  }

  #line(
    writer: LineWriter,
    event: object,
    head: Uint8Array | undefined,
    tail: Uint8Array | undefined,
    maxBytes: number,
    altered: Alterations,
    nonFinite: NonFinite | undefined,
  ): Line {
    const headLength = writer.begin(head, nonFinite)
    const maxEventBytes = maxBytes - headLength - (tail?.length ?? 0)
    this.#begin()
    if (writer.write(event, maxEventBytes)) {
      const length = writer.end(tail)
      return { bytes: writer.bytes, length }
    }
    // The writer's copy of the head: an event that was logged meanwhile has overwritten the head itself.
    const ownHead = head && Buffer.from(writer.bytes.subarray(0, headLength))
    const copy = this.#copy(eventToPlain(event, maxEventBytes, effortOfLogCall(), altered, nonFinite, writer.names))
    return copyToLine(copy, ownHead, tail, maxBytes, altered)
  }

  #tail(tail: Uint8Array, maxBytes: number, altered: Alterations): Uint8Array | undefined {
    const redacted = this.#redactedTail(tail)
    if (redacted.length <= Math.max(tail.length, maxBytes * maxTailShare)) return redacted
    altered.cut++
    return undefined
  }

  #redactedTail(tail: Uint8Array): Uint8Array {
    const known = this.#tails.get(tail)
    if (known !== undefined) return known
    // Not `tailFields`, because the application may have changed that object.
    const groups = Object.entries(parseTail(tail)).map(([name, group]) => this.#redactedGroup(name, group))
    const json = JSON.stringify(Object.assign({}, ...groups))
    const redacted = Buffer.from(json === '{}' ? '}' : `,${json.slice(1)}`)
    this.#tails.set(tail, redacted)
    return redacted
  }

  /** Returns a resource or a scope, redacted, under its name. Marks it if a text of it was too long to be examined. */
  #redactedGroup(name: string, group: Plain): PlainObject {
    const { fields, isWhole } = this.#copy({ fields: { [name]: group }, isWhole: true })
    const redacted = fields[name]
    if (isWhole || redacted === undefined || !isPlainObject(redacted)) return fields
    const { logferry = {} } = redacted
    redacted.logferry = isPlainObject(logferry) ? { ...logferry, cut: true } : { cut: true }
    return fields
  }

  /** Returns a redacted copy of plain data. Sets `failure` if it throws. */
  #copy({ fields, isWhole }: PlainCopy): PlainCopy {
    try {
      this.#begin()
      const redacted = this.root === undefined ? fields : this.#object(fields, this.root, '')
      return { fields: redacted, isWhole: isWhole && this.#texts?.isCut !== true }
    } catch (error) {
      this.failure = error
      this.#lastFailure = error
      throw error
    }
  }

  /** Begins an event, or a new attempt at it: what bounds its cost counts from zero. */
  #begin(): void {
    this.root?.begin()
    this.censor.begin()
    this.#texts?.begin()
  }

  #object(fields: PlainObject, rule: Rule, path: string): PlainObject {
    const copy = bareObject() as PlainObject
    for (const name of Object.keys(fields)) {
      const value = fields[name] as Plain
      const redacted = this.#value(value, rule.member(name), this.#needsPath ? memberPath(path, name) : '')
      if (redacted !== undefined) copy[name] = redacted
    }
    return copy
  }

  #value(value: Plain, ruling: Ruling, path: string): Plain | undefined {
    if (ruling === censored) return this.#replaced(() => this.censor.of(value, path))
    if (ruling === undefined) return value
    if (typeof value === 'string') {
      return this.#texts?.mask(value, match => this.#replaced(() => this.censor.ofMatch(match, path))) ?? value
    }
    if (Array.isArray(value)) {
      return value.map((item, i) => this.#value(item, ruling.item(i), this.#needsPath ? `${path}[${i}]` : '') ?? null)
    }
    return isPlainObject(value) ? this.#object(value, ruling, path) : value
  }

  /** Calls the censor. Its function may log, and that event would make this one count as whole although it was cut. */
  #replaced<Replacement>(censor: () => Replacement): Replacement {
    const isCut = this.#texts?.isCut === true
    const replacement = censor()
    if (this.#texts !== undefined) this.#texts.isCut = isCut
    return replacement
  }
}

/** Returns the path of a member, as `redact.paths` would name it. */
function memberPath(path: string, name: string): string {
  if (name === '' || /[.[\]*"]/.test(name)) return `${path}[${JSON.stringify(name)}]`
  return path === '' ? name : `${path}.${name}`
}
