/** Formats a duration for a message: `300 ms`. Rounds up, because the digits of a remaining time mean nothing. */
export function milliseconds(ms: number): string {
  return `${Math.ceil(Number(ms.toFixed(1)))} ms`
}
