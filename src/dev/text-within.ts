import type { FetchedAnswer } from './fetch-here.ts'

/** Returns the body of an answer as text, or `undefined` if it has more bytes than that. Then the rest is not read. */
export async function textWithin({ body }: FetchedAnswer, maxBytes: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > maxBytes) return undefined // leaving the loop cancels the body
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
