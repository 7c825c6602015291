import type { BodyEvents, EventObject } from './body-events.ts'

/** The state of one dataset. */
interface Dataset {
  readonly name: string
  /** Events that were stored, including events forgotten since. */
  count: number
  /** Held requests, oldest first. */
  readonly held: Set<BodyEvents>
}

// Memory of a request in addition to its bytes: about 900 bytes of RSS, measured over 200,000 requests of one small
// event. It is counted so that the memory for many tiny requests stays bounded too.
const requestBytes = 1024

// Memory of a dataset in addition to its name: about 300 bytes of heap, measured over 200,000 datasets without events.
const datasetBytes = 512

/** Maximum share of `maxBytes` for datasets without held requests. */
const maxEmptyPart = 1 / 8

/**
 * Holds the received events, request by request, and forgets the oldest requests if they exceed the memory limit. If
 * all requests of a dataset are forgotten, its name and its count stay. The oldest of such datasets are forgotten too
 * if they exceed their share of the memory.
 */
export class Store {
  #maxBytes: number
  #datasets = new Map<string, Dataset>()
  /** Held requests, oldest first. */
  #held = new Map<BodyEvents, Dataset>()
  /** Datasets without held requests, in the order in which they became empty. */
  #empty = new Set<Dataset>()
  #bytes = 0
  #emptyBytes = 0
  #stored = 0
  #forgotten = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  add(name: string, events: BodyEvents): void {
    const dataset = this.#datasets.get(name) ?? this.#open(name)
    dataset.count += events.count
    this.#stored += events.count
    if (events.count > 0) this.#hold(dataset, events)
    for (const oldest of this.#held.keys()) {
      if (this.#bytes <= this.#maxBytes) break
      this.#forget(oldest)
    }
    for (const oldest of this.#empty) {
      if (this.#emptyBytes <= this.#maxBytes * maxEmptyPart) break
      this.#close(oldest)
    }
  }

  datasets(): string[] {
    return [...this.#datasets.keys()]
  }

  /** Returns the number of events that were stored, including events forgotten since. */
  count(dataset: string): number {
    return this.#datasets.get(dataset)?.count ?? 0
  }

  events(dataset: string): EventObject[] {
    return this.#map(dataset, (events, index) => events.event(index))
  }

  lines(dataset: string): string[] {
    return this.#map(dataset, (events, index) => events.line(index))
  }

  /** Returns the newest lines of a dataset, at most `count`, oldest first. */
  lastLines(dataset: string, count: number): string[] {
    const lines: string[] = []
    for (const events of this.#of(dataset).reverse()) {
      for (let index = events.count - 1; index >= 0; index -= 1) {
        if (lines.length === count) return lines.reverse()
        lines.push(events.line(index))
      }
    }
    return lines.reverse()
  }

  get heldRequests(): number {
    return this.#held.size
  }

  totals(): { stored: number; forgotten: number; heldBytes: number } {
    return { stored: this.#stored, forgotten: this.#forgotten, heldBytes: this.#bytes }
  }

  clear(): void {
    this.#datasets.clear()
    this.#held.clear()
    this.#empty.clear()
    this.#bytes = 0
    this.#emptyBytes = 0
    this.#stored = 0
    this.#forgotten = 0
  }

  #open(name: string): Dataset {
    const dataset = { name, count: 0, held: new Set<BodyEvents>() }
    this.#datasets.set(name, dataset)
    this.#bytes += bytesOf(dataset)
    this.#setEmpty(dataset)
    return dataset
  }

  #close(dataset: Dataset): void {
    this.#datasets.delete(dataset.name)
    this.#bytes -= bytesOf(dataset)
    this.#unsetEmpty(dataset)
  }

  #hold(dataset: Dataset, events: BodyEvents): void {
    this.#unsetEmpty(dataset)
    dataset.held.add(events)
    this.#held.set(events, dataset)
    this.#bytes += events.bytes + requestBytes
  }

  #forget(events: BodyEvents): void {
    const dataset = this.#held.get(events) as Dataset
    this.#held.delete(events)
    dataset.held.delete(events)
    this.#bytes -= events.bytes + requestBytes
    this.#forgotten += events.count
    if (dataset.held.size === 0) this.#setEmpty(dataset)
  }

  #setEmpty(dataset: Dataset): void {
    this.#empty.add(dataset)
    this.#emptyBytes += bytesOf(dataset)
  }

  #unsetEmpty(dataset: Dataset): void {
    if (this.#empty.delete(dataset)) this.#emptyBytes -= bytesOf(dataset)
  }

  #of(dataset: string): BodyEvents[] {
    return [...(this.#datasets.get(dataset)?.held ?? [])]
  }

  #map<T>(dataset: string, read: (events: BodyEvents, index: number) => T): T[] {
    return this.#of(dataset).flatMap(events => Array.from({ length: events.count }, (_, index) => read(events, index)))
  }
}

function bytesOf({ name }: Dataset): number {
  return 2 * name.length + datasetBytes
}
