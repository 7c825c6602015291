/**
 * Question: does an event that is unlike the ordinary one cost more than the bare loop's?
 * Workload: events of ten other shapes (src/workload/shapes.ts), 100,000 of each (20,000 of 10 KB), without a format and
 *   behind format.json() (quick: left out).
 * Excluded: start-up and the compiling of hot code. Making the event is in every line, the no-op transport's as well.
 * Command: npm run bench -- --only shapes
 */
import type { Load } from '../workload/load.ts'
import { type ShapeName, shapeNames } from '../workload/shapes.ts'
import { crossed, type Experiment } from './experiment.ts'

const subjects = [
  'no-op-winston',
  'bare-winston',
  'logferry-winston',
  'no-op-winston-json',
  'bare-winston-json',
  'logferry-winston-json',
]

export const shapes: Experiment = {
  name: 'shapes',
  question: 'Does an event that is unlike the ordinary one cost more than the bare loop’s?',
  rounds: { full: 5, quick: 1 },
  shows: ['mainCpuUs', 'callNs', 'eventsPerSecond', 'lost', 'duplicated'],
  charts: ['mainCpuUs'],
  cases(extent) {
    if (extent === 'quick') return []
    return crossed(subjects, Object.fromEntries(shapeNames.map(name => [name, loadOf(name)])))
  },
}

/** Events of one shape; fewer if they are large. */
export function loadOf(shape: ShapeName): Partial<Load> {
  if (shape !== '10 KB') return { shape, events: 100_000 }
  return { shape, events: 20_000, warmUpEvents: 4000, mode: { kind: 'chunks', perTurn: 50 } }
}
