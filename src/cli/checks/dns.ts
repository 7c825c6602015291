import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { abortAfter } from '../../time.ts'
import { beforeAbort } from '../../time-limits.ts'
import { type HealthCheck, ok } from './health-check.ts'
import { proxyTo } from './proxy-address.ts'
import { timedOut } from './socket-to.ts'
import { troubleWith } from './trouble.ts'

const maxShown = 4

export const dns: HealthCheck = {
  name: 'dns',
  after: ['options', 'proxy'],
  async run(session) {
    const { target, resolved, settings } = session
    const { host } = target
    if (proxyTo(target, resolved.proxy) !== undefined) return ok('not needed: the proxy looks up the name')
    if (isIP(host) !== 0) return ok(`not needed: ${host} is an address`)
    const { timeoutMs } = settings
    try {
      const found = await beforeAbort(lookup(host, { all: true }), abortAfter(timeoutMs), () => timedOut(timeoutMs))
      const addresses = found.map(({ address }) => address)
      const more = addresses.length > maxShown ? ` and ${addresses.length - maxShown} more` : ''
      return ok(`${host} is ${addresses.slice(0, maxShown).join(', ')}${more}`, { addresses })
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      const isLate = code === 'ETIMEDOUT' ? Object.assign(new Error(), { code: 'EAI_AGAIN' }) : error
      return troubleWith(isLate, host, timeoutMs)
    }
  },
}
