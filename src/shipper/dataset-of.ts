import { isDatasetName } from '../options/dataset-name.ts'
import type { ResolvedOptions } from '../options/shipper-options.ts'

/** The name of the dataset that an event goes to, or why the function that should give it gave none. */
export type DatasetOf = { readonly name: string } | { readonly problem: string }

const parsedTails = new WeakMap<Uint8Array, object>()

/** Asks the application's function; it sees the whole event, with what the tail adds to its line. */
export function datasetOf(
  ask: Exclude<ResolvedOptions['dataset'], string>,
  event: object,
  tail: Uint8Array | undefined,
): DatasetOf {
  try {
    const name: unknown = ask(tail === undefined ? (event as Record<string, unknown>) : { ...event, ...parsed(tail) })
    return isDatasetName(name) ? { name } : { problem: 'gave no usable name' }
  } catch (error) {
    return { problem: `threw ${error instanceof Error ? error.name : typeof error}` }
  }
}

/** Tails are few, and the same object for each record of a logger. */
function parsed(tail: Uint8Array): object {
  let fields = parsedTails.get(tail)
  if (fields === undefined) {
    fields = JSON.parse(`{${Buffer.from(tail).toString('utf8').replace(/^,/, '')}`) as object
    parsedTails.set(tail, fields)
  }
  return fields
}
