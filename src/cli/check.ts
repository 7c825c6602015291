import { readFileSync } from 'node:fs'
import type { ShipperOptions, TlsOptions } from '../index.ts'
import { escapeJson } from '../text/escape-json.ts'
import { toShortLine } from '../text/short-line.ts'
import { jsonOf, lineOf, summaryOf } from './checks/report.ts'
import { type Result, runChecks } from './checks/run-checks.ts'
import type { CheckSettings } from './checks/session.ts'
import { type Command, type Given, Misuse } from './command.ts'
import { print } from './print.ts'
import { datasetOption, serviceOf, serviceOptions } from './service.ts'

const usualTimeoutSeconds = 10
const maxTimeoutSeconds = 600
const maxPathChars = 1000

export const command: Command = {
  description: `Checks each step from this machine to the service: options, proxy, DNS, connection, TLS, clock, token, organization and
license, region, speed, compression. Sends one test event. Each failure names its remedy; docs/check.md explains them.

Takes its options from the environment, as an application does: LOGFERRY_URL, LOGFERRY_TOKEN, LOGFERRY_DATASET,
LOGFERRY_REGION, LOGFERRY_ORG_ID. LOGFERRY_ACCESS_TOKEN reads the organization, if LOGFERRY_TOKEN may not. Run it where
the application runs, as its user.

Exits with 0 if nothing failed, with 1 if a check failed. A warning is no failure.`,
  options: {
    ...serviceOptions,
    ...datasetOption,
    personal: { description: 'LOGFERRY_TOKEN is a personal access token, of the organization LOGFERRY_ORG_ID' },
    ca: { value: 'file', description: 'private CA in PEM, as the option tls.ca has it', completes: 'files' },
    cert: {
      value: 'file',
      description: 'client certificate in PEM, as the option tls.cert has it',
      completes: 'files',
    },
    key: { value: 'file', description: 'its key in PEM, as the option tls.key has it', completes: 'files' },
    spool: {
      value: 'directory',
      description: 'check this spool, too: it is created if it is missing',
      completes: 'directories',
    },
    app: {
      value: 'directory',
      description:
        'directory of the application: looks in its package.json for instrumentation that ships its logs a second time, and for a Logs API that does not fit its SDK (default: this directory)',
      completes: 'directories',
    },
    probe: { description: 'measure the accepted size of a request: sends up to 32 MB, but no events' },
    timeout: { value: 'seconds', description: `maximum wait for an answer (default: ${usualTimeoutSeconds})` },
    json: { description: 'print JSON' },
  },
  outlivesReader: true,
  async run(given) {
    const settings = settingsOf(given, process.env)
    const results: Result[] = []
    for await (const result of runChecks(settings)) {
      results.push(result)
      if (given.json !== true) print(lineOf(result))
    }
    if (given.json === true) print(escapeJson(jsonOf(results)))
    else {
      print('')
      print(summaryOf(results))
    }
    return results.some(({ status }) => status === 'fail') ? 1 : 0
  },
}

/** @throws Misuse */
export function settingsOf(given: Given, environment: CheckSettings['environment']): CheckSettings {
  const tls = tlsOf(given)
  const { LOGFERRY_TOKEN, LOGFERRY_ACCESS_TOKEN } = environment
  const options: ShipperOptions = {
    ...serviceOf(given),
    dataset: given.dataset as string | undefined,
    ...(tls && { tls }),
    ...(given.personal === true && { personalAccessToken: LOGFERRY_TOKEN }),
  }
  return {
    options,
    environment,
    accessToken: LOGFERRY_ACCESS_TOKEN || undefined,
    spool: textOf(given, 'spool'),
    application: textOf(given, 'app') ?? '.',
    probesSize: given.probe === true,
    timeoutMs: timeoutMsOf(given),
  }
}

function textOf(given: Given, name: string): string | undefined {
  const text = given[name] as string | undefined
  if (text === '') throw new Misuse(`--${name} must be a path, not an empty text`)
  return text
}

function tlsOf(given: Given): TlsOptions | undefined {
  const [ca, cert, key] = ['ca', 'cert', 'key'].map(name => fileOf(given, name))
  return ca === undefined && cert === undefined && key === undefined ? undefined : { ca, cert, key }
}

function fileOf(given: Given, name: string): string | undefined {
  const path = textOf(given, name)
  if (path === undefined) return undefined
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Misuse(
      `--${name} must be a file that can be read, not '${toShortLine(path, undefined, maxPathChars)}' (${code})`,
    )
  }
}

function timeoutMsOf({ timeout }: Given): number {
  if (timeout === undefined) return usualTimeoutSeconds * 1000
  const seconds = /^\d+(\.\d+)?$/.test(String(timeout)) ? Number(timeout) : Number.NaN
  if (seconds >= 0.1 && seconds <= maxTimeoutSeconds) return seconds * 1000
  throw new Misuse(`--timeout must be a number of seconds from 0.1 to ${maxTimeoutSeconds}, not '${timeout}'`)
}
