/** What becomes of lines that somebody has asked after, whichever batches they travel in. */
export class Fate {
  /** Lines that are neither delivered nor lost yet. */
  pending = 0
  lost = 0
  #onSettled: (() => void) | undefined

  settle(isLost: boolean): void {
    if (isLost) this.lost++
    if (--this.pending === 0) this.#onSettled?.()
  }

  /** To be asked for once all lines are known. */
  whenSettled(): Promise<void> {
    return new Promise(resolve => {
      this.#onSettled = resolve
      if (this.pending === 0) resolve()
    })
  }
}

/** Lines of a batch that share a fate. */
export interface Stretch {
  readonly fate: Fate
  from: number
  to: number
}

/** Who has asked after which lines of a batch, by the numbers of the lines. */
export class Followers {
  #stretches: Stretch[] = []

  /** The stretch that ends before a line, for that line to be added to it. */
  stretchBefore(line: number, fate: Fate): Stretch {
    const last = this.#stretches.at(-1)
    if (last?.fate === fate && last.to === line) return last
    const stretch = { fate, from: line, to: line }
    this.#stretches.push(stretch)
    return stretch
  }

  /** Takes over those of lines that come to stand `shift` lines further down. */
  takeOver(others: Followers, shift: number): void {
    for (const { fate, from, to } of others.#stretches) {
      this.#stretches.push({ fate, from: from + shift, to: to + shift })
    }
    others.#stretches = []
  }

  /** Whether one and the same has asked after all these lines. */
  isOne(from: number, to: number): boolean {
    return this.#stretches.some(stretch => stretch.from <= from && to <= stretch.to)
  }

  /** Tells what has become of these lines; to be called once for each. */
  settle(from: number, to: number, isLost: (line: number) => boolean): void {
    for (const stretch of this.#stretches) {
      const end = Math.min(to, stretch.to)
      for (let line = Math.max(from, stretch.from); line < end; line++) stretch.fate.settle(isLost(line))
    }
  }
}
