/**
 * Returns the variables that every process of a test has: the path, and Node's cache of compiled modules, which takes a
 * quarter off the start of a process.
 */
export function surroundings(): Record<string, string> {
  const { PATH = '', NODE_COMPILE_CACHE } = process.env
  return NODE_COMPILE_CACHE === undefined ? { PATH } : { PATH, NODE_COMPILE_CACHE }
}
