import { nodeProblem } from '../../node-version.ts'
import { fail, type HealthCheck, ok } from './health-check.ts'

export const node: HealthCheck = {
  name: 'node',
  after: [],
  async run() {
    const problem = nodeProblem()
    if (problem !== undefined) return fail(problem, 'Run the application with a newer Node.')
    const { versions, platform, arch } = process
    const proxies = process.allowedNodeEnvironmentFlags.has('--use-env-proxy')
    const support = proxies ? 'proxies of the environment can be used' : 'too old for proxies of the environment'
    return ok(`Node ${versions.node} on ${platform} ${arch}; ${support}`, { version: versions.node, proxies })
  },
}
