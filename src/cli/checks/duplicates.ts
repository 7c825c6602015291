import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { applicationIn } from './application.ts'
import { type Finding, type HealthCheck, ok, skipped, warn } from './health-check.ts'
import { sdk, sdkOutOfReach } from './logs-api.ts'
import type { CheckSettings } from './session.ts'

/** Packages that pass on what is logged with Winston to OpenTelemetry. */
const bridges = [
  '@opentelemetry/instrumentation-winston',
  '@opentelemetry/auto-instrumentations-node',
  '@opentelemetry/winston-transport',
]
/** The instrumentation sends nothing without this package. */
const sender = '@opentelemetry/winston-transport'

const offSwitch =
  'Keep one of the two. To keep LogferryTransport, set OTEL_NODE_DISABLED_INSTRUMENTATIONS=winston, or ' +
  'new WinstonInstrumentation({ disableLogSending: true }). To keep OpenTelemetry, remove the transport from the logger.'

/**
 * Looks for what ships Winston's log calls a second time. Only what stands outside of the code is read: dependencies, preloaded
 * modules and variables. A running application knows more, and gives the warning LOGFERRY_DUPLICATE.
 */
export const duplicates: HealthCheck = {
  name: 'duplicates',
  after: [],
  async run({ settings }) {
    const { environment, application } = settings
    const directory = resolve(application)
    const dependencies = (await applicationIn(directory))?.dependencies
    const preloaded = preloadedIn(environment.NODE_OPTIONS)
    const found = bridges.filter(name => dependencies?.has(name))
    if (dependencies === undefined && preloaded === undefined) {
      return skipped(`there is no package.json in ${directory}; name the application with --app <directory>`)
    }
    if (found.length === 0 && preloaded === undefined) {
      return ok('package.json, NODE_OPTIONS and OTEL_* name nothing that ships the logs a second time')
    }
    const evidence = [
      found.length > 0 && `package.json has ${found.join(', ')}`,
      preloaded !== undefined && `NODE_OPTIONS loads ${preloaded}`,
    ]
      .filter(Boolean)
      .join(' and ')
    const values = { packages: found }
    const off = switchedOff(environment)
    if (off !== undefined) return ok(`${evidence}, but ${off}`, values)
    if (dependencies !== undefined && !dependencies.has('winston')) return ok(`${evidence}, but not winston`, values)
    if (!isInstalled(sender, directory))
      return ok(`${evidence}, but ${sender}, which sends the logs, is not installed`, values)
    const outOfReach = await sdkOutOfReach(sender, directory)
    if (outOfReach !== undefined)
      return ok(`${evidence}, but the records of ${sender} reach no provider of ${sdk} ${outOfReach}`, values)
    return warnOf(evidence, settings, values)
  },
}

function warnOf(evidence: string, { environment, options }: CheckSettings, values: { packages: string[] }): Finding {
  const endpoint = environment.OTEL_EXPORTER_OTLP_LOGS_ENDPOINT || environment.OTEL_EXPORTER_OTLP_ENDPOINT
  const url = typeof options.baseUrl === 'string' ? options.baseUrl : environment.LOGFERRY_URL
  const isSame = hostOf(endpoint) !== undefined && hostOf(endpoint) === hostOf(url)
  const where = isSame ? 'to the same service, ' : ''
  const detail = `${evidence}: with LogferryTransport in the same application, each log call is shipped twice, ${where}by OpenTelemetry too`
  return warn(detail, offSwitch, { ...values, isSameService: isSame })
}

/** Returns the module of OpenTelemetry that `NODE_OPTIONS` preloads. */
function preloadedIn(nodeOptions = ''): string | undefined {
  return /(?:--require|--import|-r)[= ]["']?(\S*opentelemetry\S*?)["']?(?:\s|$)/.exec(nodeOptions)?.[1]
}

/** Returns the variable that keeps the instrumentation from passing on logs. */
function switchedOff(environment: CheckSettings['environment']): string | undefined {
  const listOf = (name: string) => (environment[name] ?? '').split(',').map(one => one.trim())
  const enabled = environment.OTEL_NODE_ENABLED_INSTRUMENTATIONS
  if (environment.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return 'OTEL_SDK_DISABLED is true'
  if (environment.OTEL_LOGS_EXPORTER?.trim() === 'none') return 'OTEL_LOGS_EXPORTER is none'
  if (listOf('OTEL_NODE_DISABLED_INSTRUMENTATIONS').includes('winston')) {
    return 'OTEL_NODE_DISABLED_INSTRUMENTATIONS has winston'
  }
  if (enabled && !listOf('OTEL_NODE_ENABLED_INSTRUMENTATIONS').includes('winston')) {
    return 'OTEL_NODE_ENABLED_INSTRUMENTATIONS has no winston'
  }
  return undefined
}

function isInstalled(name: string, directory: string): boolean {
  try {
    createRequire(join(directory, 'package.json')).resolve(name)
    return true
  } catch {
    return false
  }
}

function hostOf(address: string | undefined): string | undefined {
  return address !== undefined && URL.canParse(address) ? new URL(address).hostname : undefined
}
