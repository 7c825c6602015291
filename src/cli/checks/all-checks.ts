import { answer } from './answer.ts'
import { clock } from './clock.ts'
import { compression } from './compression.ts'
import { connection } from './connection.ts'
import { dns } from './dns.ts'
import { duplicates } from './duplicates.ts'
import { event } from './event.ts'
import type { HealthCheck } from './health-check.ts'
import { license } from './license.ts'
import { logsApi } from './logs-api.ts'
import { node } from './node.ts'
import { options } from './options.ts'
import { organization } from './organization.ts'
import { proxy } from './proxy.ts'
import { region } from './region.ts'
import { roundTrip } from './round-trip.ts'
import { size } from './size.ts'
import { spool } from './spool.ts'
import { tls } from './tls.ts'
import { token } from './token.ts'

/** The checks in the order in which they run: from this machine to the service, each step building on those before. */
export const allChecks: readonly HealthCheck[] = [
  node,
  options,
  proxy,
  dns,
  connection,
  tls,
  answer,
  clock,
  token,
  organization,
  license,
  region,
  roundTrip,
  compression,
  size,
  event,
  spool,
  duplicates,
  logsApi,
]
