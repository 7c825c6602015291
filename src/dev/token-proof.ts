import { createHmac, timingSafeEqual } from 'node:crypto'

/** What a proof is about. The port keeps a program on another port from passing on a proof that it was given. */
export interface ProofClaim {
  readonly by: 'command' | 'service'
  readonly nonce: string
  readonly port: number
}

/** Proves that a side knows the token, without telling it. */
export function tokenProof(token: string, { by, nonce, port }: ProofClaim): string {
  return createHmac('sha256', token)
    .update(JSON.stringify([by, nonce, port]))
    .digest('base64url')
}

export function isTokenProof(given: unknown, token: string, claim: ProofClaim): boolean {
  const expected = Buffer.from(tokenProof(token, claim))
  const proof = Buffer.from(typeof given === 'string' ? given : '')
  return proof.length === expected.length && timingSafeEqual(proof, expected)
}
