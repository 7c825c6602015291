/** The oldest Node that has everything used here. `engines` in package.json names the same version. */
const [oldestMajor, oldestMinor] = [22, 19] as const

/**
 * Refuses a Node that is too old. npm only warns of it, and some old versions would work until the first batch is sent.
 *
 * @throws Error if Node is too old, or if this is another runtime
 */
export function checkNode(): void {
  const problem = nodeProblem()
  if (problem !== undefined) throw new Error(problem)
}

/** Returns the reason why this Node cannot be used, or `undefined` if it can. */
export function nodeProblem(): string | undefined {
  const needed = `${oldestMajor}.${oldestMinor} or later`
  if (!isNode()) {
    return (
      `logferry needs Node ${needed}; this runtime is not Node. Import logferry only in code that runs on Node, not in a ` +
      "browser or an edge runtime. In instrumentation.ts of Next.js, import it if process.env.NEXT_RUNTIME === 'nodejs'."
    )
  }
  const version = process.versions.node
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return undefined
  return `logferry needs Node ${needed}; this is Node ${version} (${process.execPath}). Run the program with a newer Node.`
}

/** False in browsers and on edge runtimes. These have no `process`, or one without versions. */
function isNode(): boolean {
  return typeof process !== 'undefined' && (process.versions as { node?: string } | undefined)?.node !== undefined
}

/**
 * Returns a module of Node to a module of this package that needs it while loading. Node 18 lacks the function for
 * that, and edge runtimes have one that throws.
 *
 * @throws Error if Node is too old, or if this is another runtime
 */
export const builtinModule = ((name: string) => {
  if (!isNode() || process.getBuiltinModule === undefined) checkNode()
  return process.getBuiltinModule(name)
}) as typeof process.getBuiltinModule
