import { isPathSegment } from './path-segment.ts'

/** True if a text can name a dataset: it becomes one segment of a path. */
export function isDatasetName(name: unknown): name is string {
  return isPathSegment(name)
}
