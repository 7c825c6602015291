import { resolve } from 'node:path'
import { applicationIn, installedPackage, type PackageFile } from './application.ts'
import { type HealthCheck, ok, skipped, warn } from './health-check.ts'

export const sdk = '@opentelemetry/sdk-logs'
const api = '@opentelemetry/api'
const olderApi = '@opentelemetry/api-logs'
/** Packages that log through the Logs API for an application. */
const bridges = [
  '@opentelemetry/winston-transport',
  '@opentelemetry/instrumentation-winston',
  '@opentelemetry/instrumentation-pino',
  '@opentelemetry/instrumentation-bunyan',
]

/**
 * Compares the Logs API that an application uses with its SDK. `@opentelemetry/api-logs` belongs to the SDK 0.x, and
 * `@opentelemetry/api` 1.10 to the SDK 3.x. With the wrong one, records reach no provider, and no error tells.
 */
export const logsApi: HealthCheck = {
  name: 'logs-api',
  after: [],
  async run({ settings }) {
    const directory = resolve(settings.application)
    const application = await applicationIn(directory)
    if (application === undefined) {
      return skipped(`there is no package.json in ${directory}; name the application with --app <directory>`)
    }
    const { version } = (await installedPackage(sdk, directory)) ?? {}
    if (version === undefined) return ok(`${sdk} is not installed`)
    const values = { sdk: version }
    const users = await usersOfOlderApi(application, directory)
    if (usesNewerApi(version)) {
      if (users.length === 0) return ok(`${sdk} ${version}, without ${olderApi}`, values)
      return warn(
        `package.json has ${users.join(', ')}, but the records of ${olderApi} reach no provider of ${sdk} ${version}: they are lost without an error`,
        `Import logs from ${api} 1.10 or later, and remove what uses ${olderApi}.`,
        { ...values, packages: users },
      )
    }
    const newerApi = (await installedPackage(api, directory))?.version
    // The SDK for Node installs the SDK of logs also for an application that has only traces.
    const mayUseNewer = application.dependencies.has(sdk) && users.length === 0
    if (newerApi === undefined || !hasLogs(newerApi) || !mayUseNewer) {
      return ok(`${sdk} ${version}, without a newer Logs API`, values)
    }
    return warn(
      `${api} ${newerApi} has a Logs API whose records reach no provider of ${sdk} ${version}: they are lost without an error`,
      `Install ${sdk} 3 or later, or import logs from ${olderApi}.`,
      { ...values, packages: [api] },
    )
  },
}

/**
 * Returns the installed version of the SDK if the records that a bridge makes do not reach it, because the bridge uses the older
 * API.
 */
export async function sdkOutOfReach(bridge: string, directory: string): Promise<string | undefined> {
  const { version } = (await installedPackage(sdk, directory)) ?? {}
  const isOutOfReach = version !== undefined && usesNewerApi(version) && (await usesOlderApi(bridge, directory))
  return isOutOfReach ? version : undefined
}

/** Returns the dependencies of an application that use the older API. */
async function usersOfOlderApi({ dependencies }: PackageFile, directory: string): Promise<string[]> {
  const users = dependencies.has(olderApi) ? [olderApi] : []
  for (const name of bridges.filter(bridge => dependencies.has(bridge))) {
    if (await usesOlderApi(name, directory)) users.push(name)
  }
  return users
}

async function usesOlderApi(bridge: string, directory: string): Promise<boolean> {
  return (await installedPackage(bridge, directory))?.dependencies.has(olderApi) ?? false
}

/** True for the SDK from 3.0 on. */
function usesNewerApi(sdkVersion: string): boolean {
  return Number.parseInt(sdkVersion, 10) >= 3
}

/** True from 1.10 on. */
function hasLogs(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 1 || (major === 1 && minor >= 10)
}
