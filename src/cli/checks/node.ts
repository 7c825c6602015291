import { type HealthCheck, ok } from './health-check.ts'

/** Names the version of Node. It is new enough: `main.ts` refuses an older one before any command. */
export const node: HealthCheck = {
  name: 'node',
  after: [],
  async run() {
    const { versions, platform, arch } = process
    const proxies = process.allowedNodeEnvironmentFlags.has('--use-env-proxy')
    const support = proxies ? 'proxies of the environment can be used' : 'too old for proxies of the environment'
    return ok(`Node ${versions.node} on ${platform} ${arch}; ${support}`, { version: versions.node, proxies })
  },
}
