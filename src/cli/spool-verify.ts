import { shownPath } from '../spool/file-names.ts'
import {
  type LettersReport,
  type SegmentProblem,
  type SegmentReport,
  verifyLetters,
  verifySegments,
} from '../spool/verify.ts'
import { counted } from '../text/counted.ts'
import { escapeJson } from '../text/escape-json.ts'
import { toShortLine } from '../text/short-line.ts'
import type { Command } from './command.ts'
import { print } from './print.ts'
import { directoryOf, explainUnreadable, maxPathChars, spoolDirectory } from './spool.ts'

export const command: Command = {
  description: `Checks each event in a spool by its checksum, and the files of refused events. Changes nothing. Logferry
itself leaves out what is damaged, and delivers the rest.

Exits with 0 if nothing is damaged, with 1 if something is or cannot be read.`,
  ...spoolDirectory,
  options: {
    ...spoolDirectory.options,
    json: { description: 'print JSON' },
  },
  outlivesReader: true,
  async run(given) {
    const directory = directoryOf(given)
    const verification = new Verification(directory)
    try {
      for await (const report of verifySegments(directory)) verification.addSegment(report)
      for (const report of verifyLetters(directory)) verification.addLetters(report)
    } catch (error) {
      return explainUnreadable(error, directory)
    }
    print(given.json === true ? verification.inJson() : verification.inWords())
    return verification.isIntact ? 0 : 1
  },
}

/** Maximum number of damaged segments that are listed. */
const maxListed = 1000

/** Collects the reports. Only damaged segments are kept. */
class Verification {
  readonly #directory: string
  readonly #damaged: SegmentReport[] = []
  readonly #letters: LettersReport[] = []
  #segments = 0
  #damagedSegments = 0
  #events = 0
  #bytes = 0
  #lost = 0

  constructor(directory: string) {
    this.#directory = directory
  }

  addSegment(report: SegmentReport): void {
    if (report.name !== '') this.#segments++
    this.#events += report.events
    this.#bytes += report.bytes
    this.#lost += report.lost
    if (report.problemCount === 0) return
    this.#damagedSegments++
    if (this.#damaged.length < maxListed) this.#damaged.push(report)
  }

  addLetters(report: LettersReport): void {
    this.#letters.push(report)
  }

  get isIntact(): boolean {
    return this.#damagedSegments === 0 && this.#letters.every(({ unreadableCount }) => unreadableCount === 0)
  }

  inJson(): string {
    const counts = { segments: this.#segments, events: this.#events, bytes: this.#bytes, lost: this.#lost }
    const damaged = { damagedSegments: this.#damagedSegments, damaged: this.#damaged, rejected: this.#letters }
    const report = { directory: this.#directory, isIntact: this.isIntact, ...counts, ...damaged }
    return escapeJson(JSON.stringify(report, null, 2))
  }

  inWords(): string {
    const segments = counted(this.#segments, 'segment')
    const isAre = this.#lost === 1 ? 'is' : 'are'
    const paragraphs = [
      this.#damaged.map(segmentInWords).join('\n'),
      this.#letters
        .filter(({ unreadableCount }) => unreadableCount > 0)
        .map(lettersInWords)
        .join('\n'),
      this.#segments === 0
        ? `No ${this.#damagedSegments === 0 ? '' : 'readable '}events wait in ${toShortLine(this.#directory, undefined, maxPathChars)}.`
        : `${counted(this.#events, 'event')} in ${segments} ${this.#events === 1 ? 'is' : 'are'} intact.`,
      this.#lost > 0 && `${counted(this.#lost, 'event')} ${isAre} damaged or missing. Check the disk.`,
      this.#letters
        .map(({ file, letters, unreadableCount }) => `${file}: ${counted(letters - unreadableCount, 'refused event')}`)
        .join('\n'),
    ]
    return paragraphs.filter(Boolean).join('\n\n')
  }
}

function segmentInWords(report: SegmentReport): string {
  const { problems, problemCount, bytes } = report
  const path = shownPath(report)
  const more = problemCount - problems.length
  const lines = problems.map(problem => `${path}: ${problemInWords(problem, bytes)}`)
  return [...lines, ...(more > 0 ? [`${path}: and ${counted(more, 'other place')}`] : [])].join('\n')
}

function problemInWords(problem: SegmentProblem, bytes: number): string {
  switch (problem.kind) {
    case 'unreadable':
      return toShortLine(problem.reason)
    case 'missing':
      return `${counted(problem.lines, 'event')} missing`
    case 'no-event':
      return `a record is left out: ${toShortLine(problem.reason)}`
    case 'damaged': {
      const place = `bytes ${problem.from.toLocaleString('en')} to ${(problem.to - 1).toLocaleString('en')}`
      return problem.to === bytes ? `${place} are damaged, or were not written to their end` : `${place} are damaged`
    }
  }
}

function lettersInWords({ file, unreadable, unreadableCount }: LettersReport): string {
  const more = unreadableCount - unreadable.length
  const lines = unreadable.map(({ line, reason }) => `${file}, line ${line}: ${toShortLine(reason)}`)
  return [...lines, ...(more > 0 ? [`${file}: and ${counted(more, 'other line')}`] : [])].join('\n')
}
