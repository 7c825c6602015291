import type { DropReason } from '../accounting/drop-reasons.ts'

/** The fate of a line that is not known to be delivered. */
export interface Loss {
  /**
   * `handed-off`: another process delivers the line. `unidentified`: the service refused some lines of the batch
   * without naming them, or, without a status, some lines could not be read from the store. The line may be one of them;
   * such a line does not count as lost.
   */
  readonly reason: DropReason | 'handed-off' | 'unidentified'
  /** HTTP status of the answer that refused the line. */
  readonly status: number | undefined
  /** The service's reason for the refusal, in its own words. */
  readonly serviceReason: string | undefined
}

/** Counts the lines that one caller waits for until each line is delivered or lost, in whatever batch it travels. */
export class Acknowledgement {
  /** Number of lines that are neither delivered nor lost yet. */
  pending = 0
  lost = 0
  /** Lines that another process delivers. They are not lost. */
  handedOff = 0
  /** The first loss, or doubt, that the caller must hear of. */
  loss: Loss | undefined
  #onSettled: (() => void) | undefined

  settle(loss: Loss | undefined): void {
    if (loss !== undefined) {
      this.loss ??= loss
      if (loss.reason === 'handed-off') this.handedOff++
      else if (loss.reason !== 'unidentified') this.lost++
    }
    if (--this.pending === 0) this.#onSettled?.()
  }

  /** Resolves when no line is pending. Call it after every line has been added. */
  whenSettled(): Promise<void> {
    return new Promise(resolve => this.onSettled(resolve))
  }

  /** Calls `run` when no line is pending. Call it once, after every line has been added. */
  onSettled(run: () => void): void {
    this.#onSettled = run
    if (this.pending === 0) run()
  }
}

/** Consecutive lines of a batch that one caller waits for. */
export interface LineRange {
  readonly acknowledgement: Acknowledgement
  from: number
  to: number
}

/** The callers that wait for lines of a batch, by line number. */
export class Acknowledgements {
  #ranges: LineRange[] = []

  /**
   * Returns the caller's range that ends before `line`, so that the line can be added to it. Creates a range if there
   * is none.
   */
  rangeBefore(line: number, acknowledgement: Acknowledgement): LineRange {
    const last = this.#ranges.at(-1)
    if (last?.acknowledgement === acknowledgement && last.to === line) return last
    const range = { acknowledgement, from: line, to: line }
    this.#ranges.push(range)
    return range
  }

  /** Takes over the callers of a batch that is joined to this one. Their line numbers grow by `shift`. */
  takeOver(others: Acknowledgements, shift: number): void {
    for (const { acknowledgement, from, to } of others.#ranges) {
      this.rangeBefore(from + shift, acknowledgement).to = to + shift
    }
    others.#ranges = []
  }

  /** True if no caller waits for a line. */
  get isEmpty(): boolean {
    return this.#ranges.length === 0
  }

  /** True if one caller waits for all these lines. */
  hasSingleOwner(from: number, to: number): boolean {
    const range = this.#ranges[this.#firstAfter(from)]
    return range !== undefined && range.from <= from && to <= range.to
  }

  /** Settles these lines for the callers that wait for them. Call it once for each line. */
  settle(from: number, to: number, lossOf: (line: number) => Loss | undefined): void {
    for (let at = this.#firstAfter(from); at < this.#ranges.length; at++) {
      const range = this.#ranges[at] as LineRange
      if (range.from >= to) return
      const end = Math.min(to, range.to)
      for (let line = Math.max(from, range.from); line < end; line++) range.acknowledgement.settle(lossOf(line))
    }
  }

  /**
   * Settles lines of this range that are missing in the store. Which lines are missing is unknown. So unless one caller
   * waits for the whole range, every line of it counts as maybe missing.
   */
  settleMissing(from: number, to: number, lost: number): void {
    if (this.hasSingleOwner(from, to)) return this.settle(to - lost, to, () => missing)
    this.settle(from, to, () => maybeMissing)
    this.#ranges = []
  }

  /**
   * Returns the index of the first range that ends after `line`. The ranges are in the order of their lines. Thousands
   * of callers may wait for one line each, and each part of a split batch is settled by itself.
   */
  #firstAfter(line: number): number {
    let low = 0
    let high = this.#ranges.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#ranges[middle] as LineRange).to > line) high = middle
      else low = middle + 1
    }
    return low
  }
}

const missing: Loss = { reason: 'spool-damaged', status: undefined, serviceReason: undefined }
const maybeMissing: Loss = { reason: 'unidentified', status: undefined, serviceReason: undefined }
