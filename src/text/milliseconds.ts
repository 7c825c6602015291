/** A duration for a message: `300 ms`. What is left of a time has many digits that say nothing. */
export function milliseconds(ms: number): string {
  return `${Math.ceil(Number(ms.toFixed(1)))} ms`
}
