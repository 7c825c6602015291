import { type Finding, fail } from './health-check.ts'

/** Explains why there is no connection or no answer, by the code of the error. */
export function troubleWith(error: unknown, place: string, timeoutMs: number): Finding {
  const { code = '', name, message } = error as NodeJS.ErrnoException
  const known = Object.hasOwn(explanations, code) ? explanations[code] : undefined
  const values = code === '' ? undefined : { code }
  if (known !== undefined) return fail(`${known[0].replace('%', () => place)} (${code})`, known[1], values)
  if (name === 'TimeoutError') {
    const detail = `${place} did not answer within ${timeoutMs / 1000} s`
    return fail(
      detail,
      'Try again with a longer --timeout. If that helps, raise requestTimeoutMs. If not, ask the operator.',
    )
  }
  if (code.startsWith('HPE_')) {
    const remedy = 'Check the port and the scheme of LOGFERRY_URL: a server with TLS needs https://.'
    return fail(`${place} does not answer in HTTP (${code})`, remedy, values)
  }
  return fail(
    `no answer from ${place}: ${[code, message].filter(Boolean).join(': ')}`,
    'Check LOGFERRY_URL and the network between this machine and the service.',
    values,
  )
}

/** Explanations and remedies by code; `%` stands for the place that was to be reached. */
const explanations: Readonly<Record<string, readonly [detail: string, remedy: string]>> = {
  ENOTFOUND: [
    'no name server knows %',
    'Check the spelling of LOGFERRY_URL, and whether the name needs a VPN or a proxy.',
  ],
  EAI_AGAIN: [
    'no name server answered for %',
    'Check the network of this machine, and its name servers (/etc/resolv.conf).',
  ],
  ECONNREFUSED: ['nothing listens at %', 'Check the port of LOGFERRY_URL, and that the service is running.'],
  ETIMEDOUT: [
    '% does not answer',
    'A firewall may drop the packets. Allow connections to this host and port, or set a proxy (HTTPS_PROXY with NODE_USE_ENV_PROXY=1).',
  ],
  EHOSTUNREACH: [
    'there is no way to %',
    'Check the routes of this machine, and whether the service needs a VPN or a proxy.',
  ],
  ENETUNREACH: [
    'there is no way to %',
    'Check the network of this machine. Only IPv6 may be missing: try the IPv4 address.',
  ],
  ECONNRESET: [
    '% closed the connection',
    'A firewall, or a server that expects the other scheme, closes connections in this way. Check the scheme and port of LOGFERRY_URL.',
  ],
  EPIPE: ['% closed the connection', 'Check the scheme and port of LOGFERRY_URL.'],
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: [
    '% wants a client certificate',
    'Give it with --cert and --key, and in the application with the options tls.cert and tls.key.',
  ],
  EACCES: [
    'this process may not connect to %',
    'Check the permissions of the process (--permission, a sandbox, a firewall).',
  ],
  ERR_ACCESS_DENIED: ['this process may not connect to %', 'Run Node with --allow-net, or without --permission.'],
}
