/** An event as `JSON.parse` returns it. */
export type EventObject = Record<string, unknown>

/**
 * The events of one request: the bytes of the body and the position of each event. Each access parses the event, unless
 * the parsed events were kept.
 */
export class BodyEvents {
  readonly body: Buffer
  #spans: Uint32Array
  #parsed: readonly (EventObject | undefined)[]

  /** @param parsed - parsed events to keep, by the index of the event */
  constructor(body: Buffer, spans: ArrayLike<number>, parsed: readonly (EventObject | undefined)[] = []) {
    this.body = body
    this.#spans = Uint32Array.from(spans)
    this.#parsed = parsed
  }

  get count(): number {
    return this.#spans.length / 2
  }

  /** Memory that this object retains, in bytes: the body and the positions of its events. */
  get bytes(): number {
    return this.body.length + this.#spans.byteLength
  }

  start(index: number): number {
    return this.#spans[2 * index] ?? 0
  }

  line(index: number): string {
    return this.body.toString('utf8', this.#spans[2 * index], this.#spans[2 * index + 1])
  }

  event(index: number): EventObject {
    return this.#parsed[index] ?? JSON.parse(this.line(index))
  }

  /** Returns the size of an event, in bytes. */
  size(index: number): number {
    return (this.#spans[2 * index + 1] ?? 0) - this.start(index)
  }

  without(indexes: ReadonlySet<number>): BodyEvents {
    return indexes.size === 0
      ? this
      : new BodyEvents(
          this.body,
          this.#spans.filter((_, offset) => !indexes.has(offset >> 1)),
          this.#parsed.filter((_, index) => !indexes.has(index)),
        )
  }
}
