/**
 * What an organization may still ingest in this period, in bytes, from the header `X-IngestLimit-Remaining` of an answer;
 * `undefined` where it says nothing usable. The public service that resembles this one sends it.
 */
export function ingestLimitIn(headers: Readonly<Record<string, string | string[] | undefined>>): number | undefined {
  const text = headers['x-ingestlimit-remaining']
  return typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}
