import type { Diagnostics } from '../accounting/diagnostics.ts'
import { FieldRules } from '../fields/field-rules.ts'
import { shownName, valueLikePart } from '../fields/value-like-name.ts'
import type { ResolvedFields } from '../options/fields-options.ts'
import type { ResolvedOptions } from '../options/resolved-options.ts'
import { bytesAsSent, eventAsSent, plainToJson } from '../record/event-to-line.ts'
import type { Alterations } from '../record/event-to-plain.ts'
import type { Redaction } from '../record/redaction.ts'
import { tailFields } from '../record/resource-tail.ts'
import { fewCallsBytes, reserveStack } from '../stack-reserve.ts'
import { quoted } from '../text/short-line.ts'
import { addedFieldsOf } from './added-fields.ts'
import { type HoldingStep, nonFiniteOf, replaceFields } from './intake/intake-event.ts'

/** Maximum number of warnings of a kind for one dataset. `usage()` has the other findings. */
const maxWarnings = 3

/** Creates the application's rules for fields. */
export function fieldRulesOf(
  { max, asText, overflowField }: ResolvedFields,
  deps: {
    readonly options: ResolvedOptions
    readonly diagnostics: Diagnostics
    readonly altered: Alterations
  },
): FieldRules {
  const { options, diagnostics, altered } = deps
  const warned = new Map<string, number>()
  const warn = (about: string, message: string): void => {
    const count = (warned.get(about) ?? 0) + 1
    if (warned.size > 1000) warned.clear()
    warned.set(about, count)
    if (count <= maxWarnings) diagnostics.warn('LOGFERRY_FIELDS', message, `${about} ${count}`)
  }
  return new FieldRules({
    maxFields: Number.POSITIVE_INFINITY,
    maxOwnFields: max,
    asText,
    overflowField,
    timeField: options.timeField,
    addedFields: addedFieldsOf(options),
    maxTextBytes: options.maxEventBytes,
    toJson: plainToJson,
    asSent: (event, nonFinite) => eventAsSent(event, options.maxEventBytes, altered, nonFinite),
    onOver: (dataset, path) =>
      warn(
        `fields of ${dataset}`,
        `dataset ${quoted(dataset)} has no room for more fields: ${shownPath(path)} and new ones after it go into the field ` +
          `${quoted(overflowField)}. Log varying names as values${max === undefined ? '' : ', or raise fields.max if the license allows more'}.`,
      ),
    onValueLikeNames: (dataset, { example, group }) =>
      warn(
        `names in ${dataset}`,
        `names of fields in dataset ${quoted(dataset)} look like identifiers or values: ${quoted(example)}. Each is a ` +
          `field of its own. Log them as values${group === '' ? '' : `, or set fields.asText: [${quoted(`${group}.*`)}]`}.`,
      ),
    onTypeChange: (dataset, { path, types }) =>
      warn(
        `types in ${dataset}`,
        `the field ${shownPath(path)} in dataset ${quoted(dataset)} was ${types.join(', then ')}. A field should keep its ` +
          'type: the service may refuse or misread other values.',
      ),
  })
}

/** Applies the rules to every event, if no license does. */
export function fieldStep(rules: FieldRules, redaction: Redaction | undefined): HoldingStep {
  return (intake, dataset) => {
    reserveStack(fewCallsBytes)
    if (intake.resource !== undefined) rules.know(dataset, tailFields(intake.resource))
    const folded = rules.fold(dataset, intake.event, nonFiniteOf(intake))
    if (folded === intake.event) return undefined // the application's own object may change before it is logged again
    replaceFields(intake, folded)
    redaction?.noteRedacted(folded)
    return undefined
  }
}

/**
 * Redacts an event before its fields are folded, because no path leads into a text that a group became.
 *
 * @throws the failure of the redaction
 */
export function redactStep(redaction: Redaction, maxEventBytes: number, altered: Alterations): HoldingStep {
  return intake => {
    reserveStack(fewCallsBytes)
    const counted = intake.wasCut ? { stubbed: 0, cut: 0 } : altered
    const { cut } = counted
    const redacted = redaction.redacted(intake.event, bytesAsSent(maxEventBytes), counted, nonFiniteOf(intake))
    if (counted.cut > cut) intake.wasCut = true
    replaceFields(intake, redacted)
    return undefined
  }
}

/** Shows the path of a field, of a value-like name only the beginning: the whole name may be personal. */
function shownPath(path: string): string {
  const part = valueLikePart(path)
  if (part === undefined) return quoted(path)
  return quoted(part.before === '' ? shownName(part.text) : `${part.before}.${shownName(part.text)}`)
}
