import type { IntakeDropReason } from '../../accounting/drop-reasons.ts'
import type { Alterations } from '../../record/event-to-plain.ts'
import { UidSequence } from '../../record/uid-sequence.ts'
import { Intake, type IntakeDeps } from './intake.ts'
import type { HoldingStep, IntakeEvent } from './intake-event.ts'
import { IdentifiedHeads } from './line-heads.ts'

/** The intake of a shipper whose events have a uid (`identify`). */
export class IdentifiedIntake extends Intake {
  readonly #uids: UidSequence

  constructor(
    deps: IntakeDeps,
    altered: Alterations,
    steps: readonly HoldingStep[] = [],
    uids: UidSequence = new UidSequence(),
  ) {
    super(deps, altered, steps, new IdentifiedHeads(deps.options.timeField, deps.redaction, uids))
    this.#uids = uids
  }

  /**
   * Adds an event as `Intake` does. Gives the number of an event that is not accepted to the next event. Nothing is
   * called for that, because the stack may have ended.
   */
  override add(dataset: string, intake: IntakeEvent): IntakeDropReason | undefined {
    const uids = this.#uids
    const outer = uids.current // an accessor of another event may be logging this one
    let isAdded = false
    uids.current = 0
    try {
      const reason = super.add(dataset, intake)
      isAdded = reason === undefined
      return reason
    } finally {
      if (!isAdded && uids.current > 0) uids.spare[uids.spareCount++] = uids.current
      uids.current = outer
    }
  }
}
