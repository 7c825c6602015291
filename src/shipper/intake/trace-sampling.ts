/** Number of values of the last 56 bits of a trace id, which are random. */
const randomValues = 2 ** 56
/** Number of values of the lower 32 bits of these. */
const lowValues = 2 ** 32
/** Maximum characters of another id that are hashed. */
const maxHashed = 256

/**
 * Returns true if a trace is kept at this rate. The answer is the same in every process. Of two rates, the higher keeps
 * every trace that the lower keeps.
 *
 * For a W3C trace id, the answer is that of OpenTelemetry's consistent probability samplers. They compare the last 56
 * bits of the id with a threshold. A hash decides for any other id.
 *
 * @see https://opentelemetry.io/docs/specs/otel/trace/tracestate-probability-sampling/
 */
export function keepsTrace(traceId: string, rate: number): boolean {
  if (rate <= 0) return false
  if (!isW3cId(traceId)) return hashedShare(traceId) >= 1 - rate
  // A number does not hold 56 bits, so the upper 24 and the lower 32 are compared one after the other.
  const threshold = (1 - rate) * randomValues
  const highThreshold = Math.floor(threshold / lowValues)
  const high = Number.parseInt(traceId.slice(-14, -8), 16)
  if (high !== highThreshold) return high > highThreshold
  return Number.parseInt(traceId.slice(-8), 16) >= threshold - highThreshold * lowValues
}

function isW3cId(id: string): boolean {
  return id.length === 32 && /^[0-9a-f]+$/i.test(id)
}

/** Returns a number from 0 up to 1 that depends on nothing but the id: FNV-1a, and the last step of MurmurHash3. */
function hashedShare(id: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < id.length && i < maxHashed; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}
