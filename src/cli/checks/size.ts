import { judgeLike, sendEmptyBatch } from './empty-batch.ts'
import { fail, type HealthCheck, ok, skipped, warn } from './health-check.ts'
import type { Session } from './session.ts'

const MiB = 1_048_576
/** Sizes that are tried, from the size below which no batch of use fits to the largest that an application may set. */
const sizes = [64 * 1024, 256 * 1024, MiB, 2 * MiB, 4 * MiB, 8 * MiB, 16 * MiB]
/** Errors of a connection that the server closes while it receives a body that is too large. */
const resets: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE'])

/** Sends batches of spaces in growing sizes, until one is refused. None has an event in it. */
export const size: HealthCheck = {
  name: 'size',
  after: ['answer', 'token'],
  async run(session) {
    if (!session.settings.probesSize) return skipped('only with --probe, which sends up to 32 MB')
    let accepted = 0
    let refusal: string | undefined
    for (const bytes of sizes) {
      refusal = await refusalOf(session, bytes)
      if (refusal !== undefined) break
      accepted = bytes
    }
    const values = { acceptedBytes: accepted }
    if (refusal === undefined) return ok(`accepts requests of ${inWords(accepted)}, the largest that is tried`, values)
    if (accepted === 0) {
      return fail(
        `refuses even ${inWords(sizes[0] as number)}: ${refusal}`,
        'Ask the operator to accept larger requests.',
        values,
      )
    }
    const detail = `accepts requests of ${inWords(accepted)}; the next size tried is refused: ${refusal}`
    const { maxBatchBytes } = session.resolved
    if (maxBatchBytes <= accepted) return ok(detail, values)
    const remedy = `Set maxBatchBytes to ${accepted}. An application halves refused batches by itself, but each start costs it requests.`
    return warn(detail, remedy, values)
  },
}

/** Returns the reason why a batch of this size is not accepted; `undefined` if it is. */
async function refusalOf(session: Session, bytes: number): Promise<string | undefined> {
  try {
    const { answer } = await sendEmptyBatch(session, { bytes })
    return judgeLike(session.first.answer, answer) === 'taken' ? undefined : `status ${answer.status}`
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    return resets.has(code) ? `the connection is closed (${code})` : [code, message].filter(Boolean).join(': ')
  }
}

function inWords(bytes: number): string {
  return bytes >= MiB ? `${bytes / MiB} MiB` : `${bytes / 1024} KiB`
}
