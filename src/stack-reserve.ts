/**
 * Minimum stack bytes of one level of `descend`: its frame with seven numbers, as the optimizing compiler lays it out.
 */
const levelBytes = 112

/** Stack bytes for a few calls of functions that have run before. The check takes 0.1 µs. */
export const fewCallsBytes = 4096
/**
 * Stack bytes for opening a batch or calling a listener. The check takes 2 µs. V8 neither compiles a function nor calls
 * an uncompiled one unless 40 KB of the stack are left.
 */
export const openBatchBytes = 49_152
/** Stack bytes for the first steps on a disk, including Node modules that are not loaded yet. The check takes 3 µs. */
export const useDiskBytes = 65_536
/** Stack bytes for a flush. It also makes summaries of repeated events, and ships them. The check takes 6 µs. */
export const flushBytes = 3 * openBatchBytes

/**
 * Makes sure that the stack has room for work that must not stop halfway. At the end of the stack any call may throw,
 * even in a `catch` or a `finally`.
 *
 * @throws RangeError if fewer than `bytes` bytes of the stack are left
 */
export function reserveStack(bytes: number): void {
  descend(Math.ceil(bytes / levelBytes), 0, 0, 0, 0, 0, 0, 0)
}

/** Recurses `level` times. The parameters take stack even if V8 optimizes unused variables away. */
function descend(level: number, a: number, b: number, c: number, d: number, e: number, f: number, g: number): number {
  return level === 0 ? a : descend(level - 1, g, a, b, c, d, e, f) + 1
}
