import type { KeptEvent } from '../../dev/protocol.ts'

/** An event for `tail`, `logs` and `spool show`: from a running dev service, or from a spool. */
export type ShownEvent = Pick<
  KeptEvent,
  'at' | 'receivedAt' | 'dataset' | 'source' | 'level' | 'message' | 'traceId' | 'line'
>
