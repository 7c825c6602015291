import { randomBytes } from 'node:crypto'
import { abortAfter } from '../time.ts'
import { fetchHere } from './fetch-here.ts'
import { type JoinRequest, paths, writeHeader } from './protocol.ts'
import { textWithin } from './text-within.ts'
import { isTokenProof, tokenProof } from './token-proof.ts'

const probeMs = 3000
const nonceBytes = 16
/** Maximum bytes of the answer. Any program may listen at the address. */
const maxAnswerBytes = 65_536

/** The dev service that runs at an address already. */
export interface RunningService {
  readonly url: string
  /** The token that it accepts, or `undefined` if this is another one than ours. */
  readonly token: string | undefined
  readonly orgId: string
}

/**
 * Returns the dev service at an address, or `undefined` if another program listens there. Both sides prove that they
 * know the token, and neither sends it: any user of the machine may have taken the port.
 */
export async function runningService(url: string, token: string): Promise<RunningService | undefined> {
  const nonce = randomBytes(nonceBytes).toString('base64url')
  const port = Number(new URL(url).port || 80)
  const request: JoinRequest = { nonce, proof: tokenProof(token, { by: 'command', nonce, port }) }
  try {
    const answer = await fetchHere(`${url}${paths.join}`, {
      method: 'POST',
      headers: { [writeHeader]: '1', 'content-type': 'application/json' },
      body: JSON.stringify(request),
      signal: abortAfter(probeMs),
    })
    const body: unknown = JSON.parse((await textWithin(answer, maxAnswerBytes)) ?? 'null')
    if (typeof body !== 'object' || body === null) return undefined
    if (answer.status === 403 && 'code' in body && body.code === 'other-token') {
      return { url, token: undefined, orgId: '' }
    }
    if (answer.status !== 200 || !('proof' in body) || !('orgId' in body)) return undefined
    const { proof, orgId } = body
    const isProven = isTokenProof(proof, token, { by: 'service', nonce, port })
    return isProven && typeof orgId === 'string' ? { url, token, orgId } : undefined
  } catch {
    return undefined
  }
}
