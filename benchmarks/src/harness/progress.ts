import { stderr } from 'node:process'

/** Says what is under way: on a terminal in one line that changes, elsewhere in plain lines. */
export class Progress {
  readonly #total: number
  readonly #startedAtMs = performance.now()
  #done = 0

  constructor(total: number) {
    this.#total = total
  }

  begin(what: string): void {
    this.#say(`[${this.#done + 1}/${this.#total}] ${what}${this.#left()}`)
    this.#done += 1
  }

  note(text: string): void {
    this.#clear()
    console.error(text)
  }

  end(): void {
    this.#clear()
  }

  #left(): string {
    if (this.#done < 5) return ''
    const elapsedMs = performance.now() - this.#startedAtMs
    const leftMs = (elapsedMs / this.#done) * (this.#total - this.#done)
    return `   ${duration(elapsedMs)} gone, about ${duration(leftMs)} left`
  }

  #say(line: string): void {
    if (!stderr.isTTY) return console.error(line)
    this.#clear()
    stderr.write(line.slice(0, stderr.columns - 1))
  }

  #clear(): void {
    if (stderr.isTTY) stderr.write('\r\u001b[2K')
  }
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
