import { otherScheme } from '../../options/proxy-env.ts'
import { isUntrustedCertificate } from '../../options/untrusted-certificate.ts'
import { type Finding, fail, type HealthCheck, ok, warn } from './health-check.ts'
import { proxyTo, shownProxy } from './proxy-address.ts'
import type { Session } from './session.ts'
import { socketTo, TunnelRefused, tunnelTo } from './socket-to.ts'
import { troubleWith } from './trouble.ts'

export const proxy: HealthCheck = {
  name: 'proxy',
  after: ['options'],
  async run(session) {
    const { proxy } = session.resolved
    if (proxy.unused !== undefined) return unused(proxy.unused)
    if (proxy.ofOtherScheme !== undefined) return ok(`none: ${otherScheme(proxy.ofOtherScheme)}`)
    const address = proxyTo(session.target, proxy)
    if (address === undefined) {
      return ok(proxy.env.no_proxy === undefined ? 'none: the service is reached directly' : 'not used: see NO_PROXY')
    }
    return reach(address, session)
  },
}

function unused(name: string): Finding {
  return warn(
    `${name} is set, but Node does not use it`,
    'Set NODE_USE_ENV_PROXY=1 (Node 22.21 or later, or 24.5 or later) or the option proxyEnv, and give an http:// or ' +
      'https:// address. If the service is reached directly, nothing needs to change.',
    { variable: name },
  )
}

async function reach(address: URL, { target, resolved, settings }: Session): Promise<Finding> {
  const shown = shownProxy(address)
  const values = { proxy: shown }
  try {
    if (resolved.baseUrl.protocol === 'https:') (await tunnelTo(target, address, settings.timeoutMs)).destroy()
    else (await socketTo(addressOf(address), settings.timeoutMs)).destroy()
    return ok(`${shown} leads to ${target.host}`, values)
  } catch (error) {
    if (!(error instanceof TunnelRefused)) {
      const trouble = troubleWith(error, `the proxy ${shown}`, settings.timeoutMs)
      const remedy = isUntrustedCertificate((error as NodeJS.ErrnoException).code)
        ? 'Get the certificate of this authority from the operator of the proxy, and set NODE_EXTRA_CA_CERTS to its file. The option tls.ca (here: --ca) holds for the service only.'
        : 'Check the address in HTTPS_PROXY or HTTP_PROXY, and that the proxy is running.'
      return fail(trouble.detail, remedy, { ...trouble.values, ...values })
    }
    const { status } = error
    const detail = `the proxy ${shown} refuses ${target.host} (status ${status})`
    const hasPassword = address.username !== '' || address.password !== ''
    const remedy = status === 407 ? remedyForPassword(hasPassword) : remedyFor(status, target.host)
    return fail(detail, remedy, { ...values, status })
  }
}

function addressOf({ hostname, port, protocol }: URL) {
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || (protocol === 'https:' ? 443 : 80) }
}

/** @param isGiven true if the address of the proxy has a user name or a password */
export function remedyForPassword(isGiven: boolean): string {
  return isGiven
    ? 'Correct the user name and password in the address of the proxy. Write special characters as in a URL: @ is %40.'
    : 'Put the user name and password of the proxy in its address: http://user:password@proxy:port.'
}

function remedyFor(status: number, host: string): string {
  if (status >= 500) return `The proxy cannot reach the service. Check LOGFERRY_URL, and ask the operator of the proxy.`
  return `Ask the operator of the proxy to allow ${host}, or name the host in NO_PROXY if it can be reached directly.`
}
