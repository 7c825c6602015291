import { BareLoop } from './bare-loop.ts'
import type { Source, Target } from './set-up.ts'

export function open({ url, workload }: Target, compresses: boolean): Source {
  const loop = new BareLoop(url, compresses)
  const { event } = workload
  return { log: n => loop.add(JSON.stringify(event(n))), flush: () => loop.flush(), end: () => loop.close() }
}
