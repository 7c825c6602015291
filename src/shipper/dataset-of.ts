import { isDatasetName } from '../options/dataset-name.ts'
import type { ResolvedOptions } from '../options/resolved-options.ts'
import { tailFields } from '../record/resource-tail.ts'

/** The name of the dataset that an event goes to, or why the function that should give it gave none. */
export type DatasetOf = { readonly name: string } | { readonly problem: string }

/** Asks the application's function; it sees the whole event, with what the tail adds to its line. */
export function datasetOf(
  ask: Exclude<ResolvedOptions['dataset'], string>,
  event: object,
  tail: Uint8Array | undefined,
): DatasetOf {
  try {
    const name: unknown = ask(
      tail === undefined ? (event as Record<string, unknown>) : { ...event, ...tailFields(tail) },
    )
    return isDatasetName(name) ? { name } : { problem: 'gave no usable name' }
  } catch (error) {
    return { problem: `threw ${error instanceof Error ? error.name : typeof error}` }
  }
}
