import { type NumberRange, NumberRanges } from '../number-ranges.ts'
import { type NumberedUid, numberedUid, uidOf } from '../numbered-uid.ts'

/** Maximum number of ranges in memory, for all shippers together. They take about 60 MB. */
const maxRanges = 1_000_000
/** Maximum number of gaps that a report lists for each shipper, and maximum number of its duplicates. */
const maxListed = 1000

/** The events of one shipper, by their numbers. */
export interface ShipperAudit {
  /** The part of its uids that is unique to the shipper. */
  readonly shipper: string
  readonly first: number
  readonly last: number
  /** Number of different events. */
  readonly events: number
  readonly missing: number
  /** Numbers that are missing, at most 1,000 ranges. */
  readonly gaps: readonly NumberRange[]
  /** Number of events that occur again; an event that occurs three times counts twice. */
  readonly duplicates: number
  /** Numbers that occur more than once, at most 1,000 ranges. */
  readonly repeated: readonly NumberRange[]
}

export interface AuditReport {
  readonly lines: number
  /** Events without a uid, or with a uid of their own. */
  readonly unidentified: number
  /** Lines that are not a JSON object, or longer than 16 MiB. */
  readonly unreadable: number
  readonly shippers: readonly ShipperAudit[]
}

/** The numbers are so scattered that their gaps do not fit into memory. */
export class TooScattered extends Error {}

/** Counts the events of each shipper by their uids, in memory for the gaps only. */
export class UidAudit {
  readonly #shippers = new Map<string, { seen: NumberRanges; repeated: NumberRanges; duplicates: number }>()
  #lines = 0
  #unidentified = 0
  #unreadable = 0
  #ranges = 0

  /**
   * Counts the event in a line; `undefined` is a line that could not be read. Empty lines do not count.
   *
   * @throws TooScattered if the gaps do not fit into memory
   */
  count(line: string | undefined): void {
    if (line?.trim() === '') return
    this.#lines++
    const event = line === undefined ? undefined : objectIn(line)
    if (event === undefined) {
      this.#unreadable++
      return
    }
    const uid = uidIn(event)
    if (uid === undefined) this.#unidentified++
    else this.#add(uid)
  }

  /** @param isWhole true if the lines begin with the first event of each shipper, which has the number 1 */
  report({ isWhole }: { isWhole: boolean }): AuditReport {
    const shippers = [...this.#shippers].map(([shipper, { seen, repeated, duplicates }]) => {
      const [first, last] = [seen.first as number, seen.last as number]
      const from = isWhole ? 1 : first
      const gaps = [...seen.gaps(from)].slice(0, maxListed)
      const missing = last - from + 1 - seen.count
      return {
        shipper,
        first,
        last,
        events: seen.count,
        missing,
        gaps,
        duplicates,
        repeated: [...repeated].slice(0, maxListed),
      }
    })
    return { lines: this.#lines, unidentified: this.#unidentified, unreadable: this.#unreadable, shippers }
  }

  #add({ shipper, number }: NumberedUid): void {
    let audit = this.#shippers.get(shipper)
    if (audit === undefined) {
      audit = { seen: new NumberRanges(), repeated: new NumberRanges(), duplicates: 0 }
      this.#shippers.set(shipper, audit)
    }
    const before = audit.seen.length + audit.repeated.length
    if (!audit.seen.add(number)) {
      audit.duplicates++
      audit.repeated.add(number)
    }
    this.#ranges += audit.seen.length + audit.repeated.length - before
    if (this.#ranges > maxRanges) throw new TooScattered()
  }
}

type Fields = Readonly<Record<string, unknown>>

function objectIn(line: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns the uid of the event in a line. Exports may have the event in a field `data` or `event`, and a uid of their own
 * beside it.
 */
function uidIn(line: Fields): NumberedUid | undefined {
  for (const event of [line, line.data, line.event]) {
    const uid = numberedUid(uidOf(event))
    if (uid !== undefined) return uid
  }
  return undefined
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
