import { abortAfter } from '../time.ts'
import { paths, writeHeader } from './protocol.ts'
import { textWithin } from './text-within.ts'

const probeMs = 3000
/** Maximum bytes of the answer. Any program may listen at the address. */
const maxAnswerBytes = 65_536

/** The dev service that runs at an address already. */
export interface RunningService {
  readonly url: string
  /** The token that it accepts, or `undefined` if it asks for a key that this user does not have. */
  readonly token: string | undefined
  readonly orgId: string
}

/** Returns the dev service at an address, or `undefined` if another program listens there. */
export async function runningService(url: string, token: string): Promise<RunningService | undefined> {
  const headers = { authorization: `Bearer ${token}`, [writeHeader]: '1', 'content-type': 'application/json' }
  try {
    const answer = await fetch(`${url}${paths.setup}`, {
      method: 'POST',
      headers,
      body: '{}',
      redirect: 'error',
      signal: abortAfter(probeMs),
    })
    const body: unknown = JSON.parse((await textWithin(answer, maxAnswerBytes)) ?? 'null')
    if (typeof body !== 'object' || body === null) return undefined
    if (answer.status === 401 && 'code' in body && body.code === 'key-required')
      return { url, token: undefined, orgId: '' }
    if (answer.status !== 200 || !('token' in body) || !('orgId' in body)) return undefined
    const { token: itsToken, orgId } = body
    return typeof itsToken === 'string' && typeof orgId === 'string' ? { url, token: itsToken, orgId } : undefined
  } catch {
    return undefined
  }
}
