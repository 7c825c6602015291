/** Counts the lines that one caller waits for until each line is delivered or lost, in whatever batch it travels. */
export class Acknowledgement {
  /** Number of lines that are neither delivered nor lost yet. */
  pending = 0
  lost = 0
  #onSettled: (() => void) | undefined

  settle(isLost: boolean): void {
    if (isLost) this.lost++
    if (--this.pending === 0) this.#onSettled?.()
  }

  /** Resolves when no line is pending. Call it after every line has been added. */
  whenSettled(): Promise<void> {
    return new Promise(resolve => {
      this.#onSettled = resolve
      if (this.pending === 0) resolve()
    })
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
      this.#ranges.push({ acknowledgement, from: from + shift, to: to + shift })
    }
    others.#ranges = []
  }

  /** True if one caller waits for all these lines. */
  hasSingleOwner(from: number, to: number): boolean {
    return this.#ranges.some(range => range.from <= from && to <= range.to)
  }

  /** Settles these lines for the callers that wait for them. Call it once for each line. */
  settle(from: number, to: number, isLost: (line: number) => boolean): void {
    for (const range of this.#ranges) {
      const end = Math.min(to, range.to)
      for (let line = Math.max(from, range.from); line < end; line++) range.acknowledgement.settle(isLost(line))
    }
  }
}
