import { burst } from './burst.ts'
import { coldStart } from './cold-start.ts'
import { compression } from './compression.ts'
import { durability } from './durability.ts'
import type { Experiment } from './experiment.ts'
import { faults } from './faults.ts'
import { loggers } from './loggers.ts'
import { options } from './options.ts'
import { paced } from './paced.ts'
import { pieces } from './pieces.ts'
import { scaling } from './scaling.ts'
import { shapes } from './shapes.ts'
import { sizes } from './sizes.ts'
import { stretches } from './stretches.ts'
import { throughput } from './throughput.ts'

export const experiments: readonly Experiment[] = [
  pieces,
  throughput,
  burst,
  paced,
  stretches,
  sizes,
  shapes,
  compression,
  scaling,
  loggers,
  durability,
  options,
  coldStart,
  faults,
]
