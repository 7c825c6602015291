import type { Diagnostics, Spooled } from '../accounting/diagnostics.ts'
import { type Drop, dropPending } from '../accounting/drops.ts'
import type { Ledger } from '../accounting/ledger.ts'
import type { Loss } from '../batch/acknowledgements.ts'
import { Batch } from '../batch/batch.ts'
import type { BatchQueue } from '../batch/batch-queue.ts'
import type { MemoryBudget } from '../batch/memory-budget.ts'
import { readUpTo } from '../batch/spill.ts'
import type { RefusedEvents } from '../delivery/settle-attempt.ts'
import type { ResolvedSpool } from '../options/spool-options.ts'
import { ownProperties } from '../own-properties.ts'
import type { LostLines, SetAside } from '../spool/adoption.ts'
import { DeadLetters } from '../spool/dead-letters.ts'
import { type Disk, nodeDisk } from '../spool/disk.ts'
import type { RefusedRecord } from '../spool/segment-format.ts'
import { Spool } from '../spool/spool.ts'
import type { Vanished } from '../spool/watch.ts'
import { quoted } from '../text/short-line.ts'
import { clearInterval, queueMicrotask, setInterval, systemTimeMs } from '../time.ts'
import { diskReason, diskRemedy } from './disk-trouble.ts'

/** The spool, as `stats()` shows it. */
export interface SpoolStats {
  /** Bytes of the files that this process has in the spool, including batches that are in memory as well. */
  readonly bytes: number
  /** Events that this process has adopted: from other processes, or again after its own `close()`. */
  readonly adopted: number
  /**
   * Events that this process has handed off to another process: by `close()` or at its end. Also events whose file
   * could not be read or was taken over. They count as pending.
   */
  readonly handedOff: number
  /** True after the disk could not be used, until it has stored an event again. Until then, events may be in memory alone. */
  readonly isInTrouble: boolean
  /** Refused events that could not be written to `rejected.ndjson`. */
  readonly rejectedUnwritten: number
}

export interface SpoolCoordinatorDeps {
  readonly ledger: Ledger
  readonly diagnostics: Diagnostics
  readonly memory: MemoryBudget
  /** Returns the shipper's batch queue, which has the spool as its store. */
  readonly batchQueue: () => BatchQueue
  /** Called when events have been adopted. */
  readonly onAdopted: () => void
}

/** Interval between attempts to adopt batches, in milliseconds. */
const adoptEveryMs = 10_000

/**
 * Connects the spool to the shipper: batches that memory cannot hold, batches handed off at exit, and adopted batches.
 */
export class SpoolCoordinator {
  readonly spool: Spool
  readonly #directory: string
  readonly #deps: SpoolCoordinatorDeps
  readonly #deadLetters: DeadLetters
  #timer: NodeJS.Timeout | undefined
  #adopted = 0
  #rejectedUnwritten = 0
  /** Calls of listeners that are due. */
  readonly #pendingEvents: (() => void)[] = []
  #isEmitScheduled = false

  constructor(
    options: ResolvedSpool,
    durability: 'memory' | 'disk',
    deps: SpoolCoordinatorDeps,
    disk: Disk = nodeDisk,
  ) {
    const { directory, maxBytes, destination, maxRejectedBytes } = ownProperties(options)
    this.#directory = directory
    this.#deps = deps
    this.spool = new Spool({ directory, maxBytes, destination, isWriteThrough: durability === 'disk' }, disk, {
      makeRoom: () => this.#dropOldest(),
      onTrouble: error => this.#warnOfTrouble(error),
      onRetry: () => void this.#deps.batchQueue().storeAll(),
      onFull: () =>
        this.#warn(
          `the spool is full (spool.maxBytes: ${maxBytes}). New events are kept in memory only. ${fullRemedy}`,
        ),
      onVanished: vanished => this.#onVanished(vanished),
      onMore: () => void this.adoptOrphans(),
    })
    const onRejectedTrouble = (error: unknown): void =>
      this.#warn(
        `rejected.ndjson in ${directory} cannot be written (${diskReason(error)}). Refused events are not kept there. ` +
          `${diskRemedy(error, 'Check the disk.')}`,
        'rejected',
      )
    this.#deadLetters = new DeadLetters(directory, onRejectedTrouble, maxRejectedBytes)
  }

  /**
   * Adopts orphaned batches, which other processes left in the spool, now and every 10 seconds. Resolves when the
   * batches present now have been adopted, as far as there is room. Resolves to true if more follow once these are
   * delivered.
   */
  adoptOrphans(): Promise<boolean> {
    this.#timer ??= setInterval(() => this.adoptOrphans(), adoptEveryMs).unref()
    const { memory, batchQueue, onAdopted } = this.#deps
    return this.spool.adoptOrphans({
      isTooLarge: byteLength => {
        const isTooLarge = byteLength > memory.maxBytes * readUpTo
        if (isTooLarge) this.#warnOfTooLarge(byteLength)
        return isTooLarge
      },
      onAdopted: batches => {
        for (const { severities, wasHandedOffHere } of batches) {
          this.#adopted += severities.length
          this.#countAdopted({ count: severities.length, wasHandedOffHere })
        }
        batchQueue().adopt(
          batches.map(({ dataset, severities, byteLength, copy }) =>
            Batch.stored(dataset, severities, byteLength, copy, memory),
          ),
        )
        onAdopted()
      },
      onLost: lost => {
        this.#countAdopted(lost)
        this.onLost(lost.count, lost.dataset)
      },
      onRefused: refused => this.#keep(refused),
      onSetAside: setAside => this.#warnOfSetAside(setAside),
      onUnreadable: error => this.#warnOfUnreadable(error),
      onForeign: count => this.#warnOfForeign(count),
    })
  }

  /** Adopts further batches, unless `close` has ended that. */
  adoptMore(): Promise<boolean> | undefined {
    return this.#timer && this.adoptOrphans()
  }

  /** True if batches that were adopted are neither delivered nor dropped. */
  get hasAdopted(): boolean {
    return this.spool.hasAdopted
  }

  /** Starts adopting again after a `close`, including the batches that `close` handed off. */
  resume(): void {
    if (this.#timer === undefined) void this.adoptOrphans()
  }

  /**
   * Hands a batch off to another process. Returns false if the spool could take only some lines or none; the batch
   * keeps the rest. Lines that only the spool had, and that are gone there, are dropped. Listeners hear of it later: one
   * that ends the process must not keep other batches from the spool.
   */
  handOff(batch: Batch): boolean {
    const { count, byteLength, dataset, wasSent } = batch
    this.spool.skipBackoff()
    const handedOff = batch.handOffTo(this.spool)
    const kept = handedOff === undefined ? batch : nothing
    const spooled = { count: count - kept.count, bytes: byteLength - kept.byteLength }
    if (spooled.count > 0) this.onSpooled({ dataset, ...spooled, isHandedOff: true })
    if (handedOff === undefined)
      this.#deps.ledger.handOff({ count: count - batch.count, settledAgain: undefined, wasSent })
    else this.#deps.ledger.handOff({ count, settledAgain: handedOff - count, wasSent })
    if (handedOff !== undefined || !batch.isOnlyStored) return handedOff !== undefined
    this.#drop(dropOf(batch, 'spool-damaged'))
    batch.settle(() => vanished)
    this.#warn(
      `files of the spool in ${this.#directory} were removed or replaced. Events that were only there are lost. ${cleanerRemedy}`,
      'segments',
    )
    return true
  }

  /** Accepts lines of a batch that the spool has, and that were not known before. */
  onFound(count: number): void {
    this.#deps.ledger.adopt(count)
  }

  /** Hands off a batch that cannot be read: it stays where it is, for a process that can read it. */
  onUnreadable(batch: Batch): void {
    const { count, wasSent } = batch
    this.#deps.ledger.handOff({ count, settledAgain: batch.handOffAsStored(), wasSent })
    this.#warn(
      `a file of the spool in ${this.#directory} cannot be read. Its events stay there for the next process that uses the ` +
        `spool: ${count}. Check the disk and the permissions of the file.`,
      'unreadable',
    )
  }

  /** Reports lines that went to the spool. */
  onSpooled(spooled: Spooled): void {
    const { diagnostics } = this.#deps
    if (diagnostics.has('spooled')) this.#emitSoon(() => diagnostics.emit('spooled', spooled))
  }

  /** Keeps events that the service refused. */
  keepRefused({ dataset, status, events }: RefusedEvents): void {
    const letters = events.map(event => ({ dataset, status, ...event }))
    this.#rejectedUnwritten += letters.length - this.#deadLetters.write(letters, new Date(systemTimeMs()))
  }

  /** Drops lines of a batch that are missing in the spool. */
  onLost(count: number, dataset: string | undefined): void {
    this.#drop({ reason: 'spool-damaged', bySeverity: { unknown: count }, dataset })
    const what = dataset === undefined ? '' : ` for dataset ${quoted(dataset)}`
    this.#warn(`the spool in ${this.#directory} is damaged. Lost events${what}: ${count}. Check the disk.`, 'damaged')
  }

  close(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#deadLetters.close()
    this.spool.close()
    this.emitPending()
  }

  /** Calls the listeners that are due. A microtask does so as well, which may be too late at the end of the process. */
  emitPending(): void {
    this.#isEmitScheduled = false
    this.#deps.diagnostics.emitInTurn(this.#pendingEvents.splice(0))
  }

  stats(): SpoolStats {
    const { usedBytes, isInTrouble } = this.spool
    const { handedOff } = this.#deps.ledger
    const rejectedUnwritten = this.#rejectedUnwritten
    return { bytes: usedBytes, adopted: this.#adopted, handedOff, isInTrouble, rejectedUnwritten }
  }

  #countAdopted({ count, wasHandedOffHere }: Pick<LostLines, 'count' | 'wasHandedOffHere'>): void {
    const { ledger } = this.#deps
    if (wasHandedOffHere) ledger.takeBack(count)
    else ledger.adopt(count)
  }

  #dropOldest(): boolean {
    const batch = this.#deps.batchQueue().takeOldestStored()
    if (batch === undefined) return false
    this.#drop(dropOf(batch, 'spool-full'))
    batch.settle(() => full)
    this.#warn(`the spool is full. Its oldest events are dropped. ${fullRemedy}`)
    return true
  }

  /**
   * Settles batches that vanished from the spool. A batch that another process has taken counts as handed off; others
   * are lost.
   */
  #onVanished({ path, what }: Vanished): void {
    let lost = 0
    for (const batch of this.#deps.batchQueue().recover()) {
      const { count, wasSent } = batch
      if (what === 'taken') this.#deps.ledger.handOff({ count, settledAgain: batch.handOffAsStored(), wasSent })
      else {
        lost += count
        this.#drop(dropOf(batch, 'spool-damaged'))
        batch.settle(() => vanished)
      }
    }
    const cost = lost === 0 ? 'No event is lost' : `Lost events: ${lost}`
    const again = `${cost}. Events that were still in memory are written to the spool again.`
    if (what === 'taken')
      this.#warn(`another process has taken over ${path} from this one. Events may arrive twice. ${takenRemedy}`, what)
    else if (what === 'removed') this.#warn(`${path} was removed or replaced. ${again} ${cleanerRemedy}`, what)
    else this.#warn(`files in ${path} were removed or replaced. ${again} ${cleanerRemedy}`, what)
  }

  #drop(drop: Drop): void {
    dropPending(this.#deps, drop, emit => this.#emitSoon(emit))
  }

  /** Keeps an intact record that must not be sent, in the same file as events that the service refused. */
  #keep({ dataset, line, reason }: RefusedRecord): boolean {
    const letter = { dataset, json: JSON.stringify(line), reason }
    const isKept = this.#deadLetters.write([letter], new Date(systemTimeMs())) > 0
    if (!isKept) this.#rejectedUnwritten++
    return isKept
  }

  #warnOfSetAside({ count, unkept, reason }: SetAside): void {
    const kept = unkept === 0 ? 'but kept in rejected.ndjson' : `and ${unkept} could not be kept in rejected.ndjson`
    this.#warn(
      `the spool in ${this.#directory} has records that logferry did not write: ${count} (${reason}). ` +
        `They are not sent, ${kept}. Find out what else writes to this directory.`,
      'refused',
    )
  }

  #warnOfTrouble(error: unknown): void {
    const remedy = diskRemedy(error, 'Check the disk and the permissions of the directory.')
    this.#warn(
      `the spool in ${this.#directory} cannot be used (${diskReason(error)}). Events are kept in memory only, and the spool is ` +
        `tried again from time to time. ${remedy}`,
      'trouble',
    )
  }

  #warnOfUnreadable(error: unknown): void {
    const isLock = (error as NodeJS.ErrnoException).syscall === 'lock'
    const [place, done] = isLock ? ['directory', 'locked'] : ['file', 'read']
    this.#warn(
      `a ${place} of the spool in ${this.#directory} cannot be ${done} (${diskReason(error)}). The ${place} stays there, and is tried again ` +
        `from time to time. ${diskRemedy(error, 'Check the disk.')}`,
      'unreadable',
    )
  }

  #warnOfForeign(count: number): void {
    const belong = count === 1 ? 'a directory belongs' : `${count} directories belong`
    this.#warn(
      `${belong} to another user in the spool in ${this.#directory}. Events that were left there are not delivered. Run ` +
        '`logferry spool send` as that user, or give the directories to the user of this process (chown -R).',
      'foreign',
    )
  }

  #warnOfTooLarge(bytes: number): void {
    this.#warn(
      `a file with ${bytes} bytes of events in the spool in ${this.#directory} is too large for maxBufferedBytes. The file stays ` +
        'there. Raise maxBufferedBytes, or stop the process and run `logferry spool send`.',
      'too-large',
    )
  }

  #warn(message: string, about = message): void {
    this.#emitSoon(() => this.#deps.diagnostics.warn('LOGFERRY_SPOOL', message, about))
  }

  /**
   * Schedules a call of listeners. Listeners may log, which must not happen while a batch is being written to the disk.
   */
  #emitSoon(one: () => void): void {
    this.#pendingEvents.push(one)
    if (this.#isEmitScheduled) return
    queueMicrotask(() => this.emitPending())
    this.#isEmitScheduled = true // after the call, which fails where the stack ends
  }
}

function dropOf({ bySeverity, dataset, wasSent }: Batch, reason: Drop['reason']): Drop {
  return { reason, bySeverity, dataset, wasSent }
}

const nothing = { count: 0, byteLength: 0 }
const full: Loss = { reason: 'spool-full', status: undefined, serviceReason: undefined }
const vanished: Loss = { reason: 'spool-damaged', status: undefined, serviceReason: undefined }

const fullRemedy = 'Find out why delivery is slow, or raise spool.maxBytes.'

const cleanerRemedy = 'Keep the spool where nothing removes old files, such as /var/spool.'
const takenRemedy = 'Make sure that nothing removes the lock file, and that the file system supports locks.'
