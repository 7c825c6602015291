import type { Socket } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { verifiedTls } from '../../http/verified-tls.ts'
import { isUntrustedCertificate } from '../../options/untrusted-certificate.ts'
import { counted } from '../../text/counted.ts'
import { systemTimeMs } from '../../time.ts'
import { deadline } from '../../time-limits.ts'
import { type CertificateFacts, certificateOf } from './certificate.ts'
import { type Finding, fail, type HealthCheck, ok, warn } from './health-check.ts'
import { proxyTo } from './proxy-address.ts'
import type { Session } from './session.ts'
import { socketTo, timedOut, tunnelTo } from './socket-to.ts'
import { troubleWith } from './trouble.ts'

/** Days before the end of a certificate at which it is reported. Automatic renewals are done by then. */
const noticeDays = 14

const offerHttp1 =
  'The server speaks HTTP/2 alone. Let it take HTTP/1.1 as well, or give the application a dispatcher of undici: ' +
  'new Agent({ allowH2: true }).'

export const tls: HealthCheck = {
  name: 'tls',
  after: ['options', 'proxy', 'connection'],
  async run(session) {
    const { target, resolved, settings } = session
    if (resolved.baseUrl.protocol === 'http:') return ok('not used: the address begins with http://')
    const place = `${target.host} on port ${target.port}`
    try {
      const socket = await shakeHands(session)
      const facts = certificateOf(socket, systemTimeMs())
      const problem = socket.authorized ? undefined : codeOf(socket.authorizationError)
      const protocol = socket.getProtocol() ?? 'TLS'
      socket.destroy()
      return judge({ facts, problem, protocol, session })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EPROTO' && !isOfOpenSsl(error)) {
        return troubleWith(error, place, settings.timeoutMs)
      }
      const { code = '' } = error as NodeJS.ErrnoException
      if (code.endsWith('_NO_APPLICATION_PROTOCOL'))
        return fail(`${place} does not speak HTTP/1.1 with TLS: ${reasonOf(error)}`, offerHttp1)
      if (code.endsWith('_UNRECOGNIZED_NAME'))
        return fail(
          `the server on port ${target.port} does not know the name ${target.host}: ${reasonOf(error)}`,
          'Check the host of LOGFERRY_URL. A gateway on the way may lack this name: ask its operator.',
        )
      return fail(
        `${place} does not speak TLS as this machine does: ${reasonOf(error)}`,
        'Check the port of LOGFERRY_URL: the server may speak plain HTTP there. If the server wants a client certificate, give it with --cert and --key, and in the application with the option tls.',
      )
    }
  },
}

/** Connects without a check of the certificate, to see what is wrong with it. No data is sent, and so no token. */
async function shakeHands(session: Session): Promise<TLSSocket> {
  const { target, resolved, settings } = session
  const { timeoutMs } = settings
  const address = proxyTo(target, resolved.proxy)
  const raw: Socket = await (address === undefined ? socketTo(target, timeoutMs) : tunnelTo(target, address, timeoutMs))
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>()
  const isName = /[a-z]/i.test(target.host) && !target.host.includes(':')
  const socket = connect({
    ...verifiedTls(resolved.tls),
    socket: raw,
    host: target.host,
    ...(isName && { servername: target.host }),
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: false,
  })
  const stopClock = deadline(timeoutMs, () => socket.destroy(timedOut(timeoutMs)))
  socket.once('secureConnect', () => resolve(socket))
  socket.on('error', reject)
  socket.once('close', () => {
    raw.destroy()
    reject(Object.assign(new Error('closed in the handshake'), { code: 'ECONNRESET' }))
  })
  return promise.finally(stopClock)
}

/** The property is an error, or in some versions of Node its code. */
function codeOf(error: unknown): string {
  return typeof error === 'string' ? error : ((error as NodeJS.ErrnoException | null)?.code ?? String(error))
}

/** OpenSSL's message also names its source files; its reason is enough. */
function reasonOf(error: unknown): string {
  const { reason, message } = error as Error & { readonly reason?: string }
  return reason ?? message
}

function isOfOpenSsl(error: unknown): boolean {
  return /^ERR_(SSL|TLS)_/.test((error as NodeJS.ErrnoException).code ?? '')
}

interface Handshake {
  readonly facts: CertificateFacts
  /** Why Node does not trust the certificate. */
  readonly problem: string | undefined
  readonly protocol: string
  readonly session: Session
}

const switchOn = 'Unset NODE_TLS_REJECT_UNAUTHORIZED: with 0, any server on the way can take the token.'

function judge(handshake: Handshake): Finding {
  const { facts, problem, protocol, session } = handshake
  const { subject, issuer, validTo, daysLeft, isPrivate } = facts
  const values = {
    subject,
    issuer,
    validTo: validTo.toISOString(),
    daysLeft,
    isPrivate,
    protocol,
    ...(problem && { problem }),
  }
  const isVerified =
    session.settings.environment.NODE_TLS_REJECT_UNAUTHORIZED !== '0' || session.resolved.tls?.ca !== undefined
  if (problem !== undefined) {
    const refusal = unverified(handshake, problem)
    if (isVerified) return { ...refusal, values }
    return warn(`${refusal.detail}, but certificates are not verified`, `${refusal.remedy} ${switchOn}`, values)
  }
  const ca = isPrivate ? `${issuer}, a private authority` : issuer
  const until = `valid until ${day(validTo)} (${counted(daysLeft, 'day')} left)`
  const detail = `${protocol}, certificate of ${subject} by ${ca}, ${until}`
  if (!isVerified) return warn(`${detail}, but certificates are not verified`, switchOn, values)
  if (daysLeft >= noticeDays) return ok(detail, values)
  return warn(detail, 'Renew the certificate of the service before then, or ask its operator to.', values)
}

/** Explains why Node does not trust the certificate. An expiry comes first, whatever else is wrong. */
function unverified({ facts, session }: Handshake, problem: string): Finding & { status: 'fail' } {
  const { subject, issuer, names, validFrom, validTo, daysLeft, isSelfSigned } = facts
  const { host } = session.target
  const nowMs = systemTimeMs()
  const refused = (detail: string, remedy: string) =>
    ({ status: 'fail', detail: `${detail} (${problem})`, remedy }) as const
  if (validTo.getTime() <= nowMs) {
    return refused(
      `the certificate of ${subject} expired on ${day(validTo)}, ${counted(-daysLeft, 'day')} ago`,
      'Renew the certificate of the service. If its date is still to come, correct the clock of this machine.',
    )
  }
  if (validFrom.getTime() > nowMs) {
    return refused(
      `the certificate of ${subject} is not valid before ${day(validFrom)}`,
      'Correct the clock of this machine, or wait until the certificate is valid.',
    )
  }
  if (problem === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return refused(
      `the certificate is for ${names || subject}, not for ${host}`,
      'Use a name of the certificate in LOGFERRY_URL, or get a certificate with the name of the service.',
    )
  }
  if (isSelfSigned || isUntrustedCertificate(problem)) {
    return refused(
      isSelfSigned
        ? `the certificate of ${subject} is self-signed, and this machine does not trust it`
        : `the certificate of ${subject} is by ${issuer}, which this machine does not trust`,
      isSelfSigned
        ? 'Get the certificate from the operator, and set NODE_EXTRA_CA_CERTS to its file, or the option tls.ca (here: --ca).'
        : 'Get the certificate of this authority from the operator, and set NODE_EXTRA_CA_CERTS to its file, or the option ' +
            'tls.ca (here: --ca). If the authority is a public one, the server leaves out a certificate of its chain.',
    )
  }
  return refused(
    `the certificate of ${subject} is refused`,
    'Ask the operator of the service to correct the certificate.',
  )
}

function day(time: Date): string {
  return time.toISOString().slice(0, 10)
}
