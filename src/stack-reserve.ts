/** The least that a level of `descend` takes on the stack: its frame with seven numbers, as the optimizing compiler makes it. */
const levelBytes = 112

/** Bytes that a few calls take which have run before: 0.1 µs to ask for. */
export const fewCallsBytes = 4096
/**
 * Bytes that opening a batch or telling a listener takes: 2 µs to ask for. V8 compiles no function, and calls none that has
 * yet to be compiled, unless 40 KB of the stack are left.
 */
export const openBatchBytes = 49_152
/** Bytes that the first steps on a disk take, with modules of Node that have yet to be loaded: 3 µs to ask for. */
export const useDiskBytes = 65_536

/**
 * Throws a `RangeError` unless so many bytes are left of the stack. For work that must not break off halfway: where the stack
 * ends, any call may throw, also one in a `catch` or a `finally`.
 */
export function reserveStack(bytes: number): void {
  descend(Math.ceil(bytes / levelBytes), 0, 0, 0, 0, 0, 0, 0)
}

/** Parameters take stack whatever V8 makes of the function, where it optimizes unused variables away. */
function descend(level: number, a: number, b: number, c: number, d: number, e: number, f: number, g: number): number {
  return level === 0 ? a : descend(level - 1, g, a, b, c, d, e, f) + 1
}
