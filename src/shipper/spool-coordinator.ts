import type { Diagnostics } from '../accounting/diagnostics.ts'
import type { DropReason, DropsBySeverity, Ledger } from '../accounting/ledger.ts'
import { Batch } from '../batch/batch.ts'
import type { BatchQueue } from '../batch/batch-queue.ts'
import type { MemoryBudget } from '../batch/memory-budget.ts'
import { readUpTo } from '../batch/spill.ts'
import type { ResolvedSpool } from '../options/spool-options.ts'
import { DeadLetters } from '../spool/dead-letters.ts'
import { type Disk, isOutOfDescriptors, nodeDisk } from '../spool/disk.ts'
import { UnsafePath } from '../spool/private-directory.ts'
import type { RefusedRecord } from '../spool/segment-format.ts'
import { Spool } from '../spool/spool.ts'
import type { Vanished } from '../spool/watch.ts'
import { quoted, toShortLine } from '../text/short-line.ts'
import { clearInterval, queueMicrotask, setInterval, systemTimeMs } from '../time.ts'

/** What of the spool is told by `stats()`. */
export interface SpoolStats {
  /** Bytes of files, also of batches that are in memory as well. */
  readonly bytes: number
  /** Events that earlier processes had left, and that this one has taken over. */
  readonly inherited: number
  /** Events that `close()` has left to the next process; they are pending. */
  readonly left: number
  /** Whether the disk cannot be written at the moment, and events are in memory alone. */
  readonly isInTrouble: boolean
}

export interface SpoolCoordinatorDeps {
  readonly ledger: Ledger
  readonly notices: Diagnostics
  readonly memory: MemoryBudget
  /** The shipper's, which has the spool as its store. */
  readonly batcher: () => BatchQueue
  /** Events have been taken over. */
  readonly onAdopted: () => void
}

/** How often what other processes have left is looked for, in milliseconds. */
const inheritEveryMs = 10_000

/** Puts the spool to use: what batches find no place in memory, what the end leaves, and what others have left. */
export class SpoolCoordinator {
  readonly spool: Spool
  readonly #directory: string
  readonly #parts: SpoolCoordinatorDeps
  readonly #deadLetters: DeadLetters
  #timer: NodeJS.Timeout | undefined
  #inherited = 0
  /** What listeners are to be told. */
  readonly #pendingEvents: (() => void)[] = []
  #isTellingSoon = false

  constructor(
    { directory, maxBytes, destination }: ResolvedSpool,
    durability: 'memory' | 'disk',
    parts: SpoolCoordinatorDeps,
    disk: Disk = nodeDisk,
  ) {
    this.#directory = directory
    this.#parts = parts
    this.spool = new Spool({ directory, maxBytes, destination, isWriteThrough: durability === 'disk' }, disk, {
      makeRoom: () => this.#dropOldest(),
      onTrouble: error => this.#warnOfTrouble(error),
      onFull: () =>
        this.#warn(`the spool has reached its ${maxBytes} bytes, and events are in memory alone. ${fullRemedy}`),
      onVanished: vanished => this.#onVanished(vanished),
      onMore: () => void this.adoptOrphans(),
    })
    this.#deadLetters = new DeadLetters(directory, error =>
      this.#warn(
        `rejected.ndjson in ${directory} cannot be written (${reasonOf(error)}). ${remedyOf(error, 'Check the disk')}.`,
        'rejected',
      ),
    )
    parts.notices.add('rejected', rejected => this.#deadLetters.write(rejected, new Date(systemTimeMs())))
  }

  /**
   * Looks for what other processes have left, now and from time to time. Resolves when what is there now is taken over, or
   * as much of it as can be at a time: with `true` where there is more to come once that is delivered.
   */
  adoptOrphans(): Promise<boolean> {
    this.#timer ??= setInterval(() => this.adoptOrphans(), inheritEveryMs).unref()
    const { memory, batcher, onAdopted } = this.#parts
    return this.spool.adoptOrphans({
      onAdopted: inherited => {
        for (const { severities, byteLength, wasHandedOffHere: wasOurs } of inherited) {
          if (byteLength > memory.maxBytes * readUpTo) this.#warnOfTooLarge(byteLength)
          this.#inherited += severities.length
          this.#count(severities.length, wasOurs)
        }
        batcher().adopt(
          inherited.map(({ dataset, severities, byteLength, copy }) =>
            Batch.stored(dataset, severities, byteLength, copy, memory),
          ),
        )
        onAdopted()
      },
      onLost: ({ count, dataset, wasHandedOffHere: wasOurs }) => {
        this.#count(count, wasOurs)
        this.onLost(count, dataset)
      },
      onRefused: refused => this.#setAside(refused),
      onUnreadable: error => this.#warnOfUnreadable(error),
    })
  }

  /** Looks for what other processes have left, and for what `close` has, after a `close`. */
  resume(): void {
    if (this.#timer === undefined) void this.adoptOrphans()
  }

  /** Leaves a batch to the next process; `false` when that cannot be done for the lines that it has then. */
  handOff(batch: Batch): boolean {
    const { count } = batch
    this.spool.skipBackoff()
    const left = batch.handOffTo(this.spool)
    if (left === undefined) this.#parts.ledger.handedOff += count - batch.count
    else this.#countLeft(left, count)
    this.emitPending()
    return left !== undefined
  }

  /** Where a batch was expected, so many lines of it were not there. */
  onLost(count: number, dataset: string | undefined): void {
    if (count < 0) {
      this.#parts.ledger.admitted -= count // somebody has added to it since it was counted
      return
    }
    this.#drop('spool-damaged', { unknown: count })
    const what = dataset === undefined ? '' : ` for dataset ${quoted(dataset)}`
    this.#warn(`the spool in ${this.#directory} is damaged, events lost${what}: ${count}. Check the disk.`, 'damaged')
  }

  close(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#deadLetters.close()
    this.spool.close()
    this.emitPending()
  }

  /** Tells listeners what there is to tell, as is done soon by itself: when the process ends there is no later. */
  emitPending(): void {
    this.#isTellingSoon = false
    for (const one of this.#pendingEvents.splice(0)) one()
  }

  stats(): SpoolStats {
    const { usedBytes, isInTrouble } = this.spool
    return { bytes: usedBytes, inherited: this.#inherited, left: this.#parts.ledger.handedOff, isInTrouble }
  }

  #count(inherited: number, wasOurs: boolean): void {
    const { ledger } = this.#parts
    if (wasOurs) ledger.handedOff -= inherited
    else ledger.admitted += inherited
  }

  /** More than the lines of the batch, if some are left that were settled already: they are to be settled again. */
  #countLeft(left: number, count: number): void {
    this.#parts.ledger.handedOff += left
    this.#parts.ledger.admitted += left - count
  }

  #dropOldest(): boolean {
    const batch = this.#parts.batcher().takeOldestStored()
    if (batch === undefined) return false
    this.#drop('spool-full', batch.bySeverity)
    batch.settle(() => true)
    this.#warn(`the spool is full, and the oldest events in it are dropped. ${fullRemedy}`)
    return true
  }

  /** What another process has is as if it had been left to it; what is gone is lost. */
  #onVanished({ path, what }: Vanished): void {
    let lost = 0
    for (const batch of this.#parts.batcher().recover()) {
      if (what === 'taken') this.#countLeft(batch.handOff(), batch.count)
      else {
        lost += batch.count
        this.#drop('spool-damaged', batch.bySeverity)
        batch.settle(() => true)
      }
    }
    const cost = lost === 0 ? 'It cost no event' : `Events lost: ${lost}`
    const again = `${cost}: what memory still had was written to the spool again.`
    if (what === 'taken')
      this.#warn(`another process has taken over ${path} from this one, events may arrive twice. ${takenRemedy}`, what)
    else if (what === 'removed')
      this.#warn(`${path} has been removed, or another put in its place. ${again} ${cleanerRemedy}`, what)
    else this.#warn(`files in ${path} have been removed, or others put in their place. ${again} ${cleanerRemedy}`, what)
  }

  #drop(reason: DropReason, bySeverity: DropsBySeverity): void {
    const { ledger, notices } = this.#parts
    const droppedBefore = ledger.dropped
    ledger.drop(reason, bySeverity)
    const count = ledger.dropped - droppedBefore
    this.#emitSoon(() => notices.emit('dropped', { reason, count, bySeverity }))
  }

  /** Keeps what is intact and must not be sent, as what the service has refused is kept. */
  #setAside(refused: readonly RefusedRecord[]): void {
    const now = new Date(systemTimeMs())
    for (const { dataset, line, reason } of refused) this.#deadLetters.write({ dataset, event: line, reason }, now)
    this.#warn(
      `the spool in ${this.#directory} has records that this package did not write (${refused[0]?.reason}): ` +
        `${refused.length}. They are not sent, and kept in rejected.ndjson. Find out who writes there.`,
      'refused',
    )
  }

  #warnOfTrouble(error: unknown): void {
    const remedy = remedyOf(error, 'Check the disk, and that the directory may be written to')
    this.#warn(
      `the spool in ${this.#directory} cannot be used now (${reasonOf(error)}), and events are in memory alone. ${remedy}; ` +
        'it is tried again from time to time.',
      'trouble',
    )
  }

  #warnOfUnreadable(error: unknown): void {
    this.#warn(
      `a file in the spool in ${this.#directory} cannot be read (${reasonOf(error)}). It is left there, and tried again ` +
        `from time to time. ${remedyOf(error, 'Check the disk')}.`,
      'unreadable',
    )
  }

  #warnOfTooLarge(bytes: number): void {
    this.#warn(
      `a file of ${bytes} bytes of events in the spool in ${this.#directory} is too large for the memory that this process ` +
        'may use, and stays there. Raise maxBufferedBytes, or stop the process and run `logferry spool send`.',
      'too-large',
    )
  }

  #warn(message: string, about = message): void {
    this.#emitSoon(() => this.#parts.notices.warn('LOGFERRY_SPOOL', message, about))
  }

  /** Listeners may log, which must not happen while a batch is on its way to the disk. */
  #emitSoon(one: () => void): void {
    this.#pendingEvents.push(one)
    if (this.#isTellingSoon) return
    queueMicrotask(() => this.emitPending())
    this.#isTellingSoon = true // not before: where the stack ends, the call above fails
  }
}

const fullRemedy = 'Find out why delivery is slow, or raise spool.maxBytes.'

/** Room for a path, as it is told of one that is not safe. */
const maxReasonChars = 1000

const cleanerRemedy = 'Keep the spool where nothing removes old files, as in /var/spool.'
const takenRemedy = 'See that its lock file stays, and that the file system can lock.'

function remedyOf(error: unknown, otherwise: string): string {
  if (error instanceof UnsafePath) return 'Give the spool a directory that no other user owns or may write to'
  return isOutOfDescriptors(error) ? 'Find out what has so many files open, or raise the limit (ulimit -n)' : otherwise
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return toShortLine(String(code ?? message), undefined, maxReasonChars)
}
