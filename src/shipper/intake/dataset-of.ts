import { isDatasetName } from '../../options/dataset-name.ts'
import { kindOf } from '../../options/described.ts'
import type { ResolvedOptions } from '../../options/resolved-options.ts'
import { kindOfThrown } from '../../text/kind-of-thrown.ts'
import { problemOf } from './hooks.ts'
import { wholeEvent } from './intake-event.ts'

/** The name of an event's dataset, or the reason why the application's function gave none. */
type DatasetOf = { readonly name: string } | { readonly problem: string }

/**
 * Calls the application's function. The function sees the whole event, including the fields that the tail adds to the
 * line.
 */
export function datasetOf(
  ask: Exclude<ResolvedOptions['dataset'], string>,
  event: object,
  tail: Uint8Array | undefined,
): DatasetOf {
  try {
    const name: unknown = ask(wholeEvent(event, tail))
    if (isDatasetName(name)) return { name }
    return { problem: problemOf(name) ?? `returned ${kindOf(name)}` }
  } catch (error) {
    return { problem: `threw ${kindOfThrown(error)}` }
  }
}
