/** Returns the body of a response as text, or `undefined` if it has more bytes than that. Then the rest is not read. */
export async function textWithin(response: Response, maxBytes: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > maxBytes) return undefined // leaving the loop cancels the body
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
