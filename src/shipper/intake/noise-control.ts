import type { ResolvedOptions } from '../../options/resolved-options.ts'
import type { Alterations } from '../../record/event-to-plain.ts'
import type { Redaction } from '../../record/redaction.ts'
import type { HeldEvents } from '../held-events.ts'
import { Collapse } from './collapse.ts'
import type { Intake } from './intake.ts'
import type { IntakeDrops } from './intake-drops.ts'
import type { HoldingStep } from './intake-event.ts'
import { TraceHold } from './trace-hold.ts'

interface NoiseControlDeps {
  readonly options: Pick<ResolvedOptions, 'collapse' | 'hold' | 'timeField' | 'maxEventBytes'>
  readonly heldEvents: HeldEvents
  readonly altered: Alterations
  readonly intake: () => Intake
  readonly intakeDrops: () => IntakeDrops
  readonly redaction: Redaction | undefined
  /** Called when an event is held that only an event of its trace will release. */
  readonly onUntriggered: () => void
}

/** The steps that keep back events that say nothing new, or nothing of interest. */
export interface NoiseControl {
  /**
   * The steps of the options that are set. They come after every step that changes or samples events, because an event
   * that they keep does not pass the earlier steps again. A released event is collapsed as any other.
   */
  readonly steps: readonly HoldingStep[]
  readonly traceHold: TraceHold | undefined
}

export function openNoiseControl(deps: NoiseControlDeps): NoiseControl {
  const { options, heldEvents, altered, intake, intakeDrops, redaction } = deps
  const { hold, collapse, timeField, maxEventBytes } = options
  const traceHold =
    hold &&
    new TraceHold({
      options: hold,
      heldEvents,
      altered,
      toJson: (event, changes) => intake().toJson(event, changes),
      passOn: (dataset, released) => {
        redaction?.noteRedacted(released.event)
        intake().takeAfter(holdStep, dataset, released)
      },
      onFirstHeld: deps.onUntriggered,
      onDropped: severity => intakeDrops().drop('untriggered', severity),
    })
  const holdStep = traceHold?.step as HoldingStep
  const collapsing =
    collapse &&
    new Collapse({
      windowMs: collapse.windowMs,
      timeField,
      maxEventBytes,
      heldEvents,
      altered,
      toJson: (event, maxBytes, changes) => intake().toJsonWithin(maxBytes, event, changes),
      shownTime: time => (redaction === undefined ? time : redaction.shownTime(timeField, time)),
      passOn: (dataset, summary) => {
        redaction?.noteRedacted(summary.event)
        intake().takeAfter(collapseStep, dataset, summary)
      },
    })
  const collapseStep = collapsing?.step as HoldingStep
  const steps = [holdStep, collapseStep].filter(step => step !== undefined)
  return { steps, traceHold }
}
