import { type HealthCheck, ok } from './health-check.ts'
import { proxyTo } from './proxy-address.ts'
import { socketTo } from './socket-to.ts'
import { troubleWith } from './trouble.ts'

export const connection: HealthCheck = {
  name: 'connection',
  after: ['options', 'proxy', 'dns'],
  async run(session) {
    const { target, resolved, settings } = session
    if (proxyTo(target, resolved.proxy) !== undefined) return ok('made by the proxy')
    const place = `${target.host} on port ${target.port}`
    try {
      const socket = await socketTo(target, settings.timeoutMs)
      const { remoteAddress = target.host } = socket
      socket.destroy()
      return ok(`port ${target.port} of ${remoteAddress} is open`)
    } catch (error) {
      return troubleWith(error, place, settings.timeoutMs)
    }
  },
}
