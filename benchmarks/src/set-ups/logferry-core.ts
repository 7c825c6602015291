import { ending, type Options, openShipper } from './logferry-shipper.ts'
import type { Source, Target } from './set-up.ts'

export function open(target: Target, options: Options): Source {
  const shipper = openShipper(target, options)
  const { event } = target.workload
  return { log: n => void shipper.ship(event(n)), ...ending(shipper) }
}
