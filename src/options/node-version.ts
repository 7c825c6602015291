/** The oldest Node that has all that is used here; `engines` in package.json says the same. */
const [oldestMajor, oldestMinor] = [22, 19] as const

/**
 * Refuses a Node that is too old. npm does no more than warn of it, and on some of them everything would go well until the
 * first batch is to be sent.
 *
 * @throws Error
 */
export function checkNode(): void {
  const problem = nodeProblem()
  if (problem !== undefined) throw new Error(problem)
}

/** Why this Node is not one to run on; `undefined` when it is. */
export function nodeProblem(): string | undefined {
  const version = process.versions.node
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return undefined
  return `logferry needs Node >=${oldestMajor}.${oldestMinor}; this is Node ${version} (${process.execPath}).`
}

/**
 * A module of Node, where it is loaded together with one of ours. Node 18 lacks the function that gives it.
 *
 * @throws Error if this Node is too old
 */
export const builtinModule = ((name: string) => {
  if (process.getBuiltinModule === undefined) checkNode()
  return process.getBuiltinModule(name)
}) as typeof process.getBuiltinModule
