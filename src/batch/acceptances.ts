/** Maximum number of datasets that are remembered. */
const maxDatasets = 256

/** When the service last accepted events, and of which datasets. Shared by the queues of all datasets. */
export class Acceptances {
  /** The datasets whose last request was accepted; the one accepted last is at the end. */
  readonly #accepted = new Set<string>()
  #dataset: string | undefined
  #atMs = Number.NEGATIVE_INFINITY
  /** Time of the last acceptance that was not of the last dataset. */
  #otherAtMs = Number.NEGATIVE_INFINITY

  /** Notes that the service has accepted events of the dataset. `nowMs` is monotonic. */
  onAccepted(dataset: string, nowMs: number): void {
    if (dataset !== this.#dataset) this.#otherAtMs = this.#atMs
    this.#dataset = dataset
    this.#atMs = nowMs
    this.#accepted.delete(dataset)
    this.#accepted.add(dataset)
    const [oldest] = this.#accepted
    if (this.#accepted.size > maxDatasets && oldest !== undefined) this.#accepted.delete(oldest)
  }

  /** Notes that a request with events of the dataset failed. */
  onFailed(dataset: string): void {
    this.#accepted.delete(dataset)
  }

  /** True if the last request with events of the dataset was accepted, as far as known. */
  isAccepted(dataset: string): boolean {
    return this.#accepted.has(dataset)
  }

  /** Returns the time at which events of any other dataset were last accepted, in milliseconds; `-Infinity` if never. */
  lastOfOthers(dataset: string): number {
    return dataset === this.#dataset ? this.#otherAtMs : this.#atMs
  }
}
