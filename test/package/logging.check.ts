import { afterAll, beforeAll, describe, it } from 'vitest'
import { Application } from './application.ts'

/** Both ends of the ranges of peer dependencies, and the versions of OpenTelemetry in between. */
const applications = [
  {
    with: 'OpenTelemetry 3.x',
    dependencies: ['@opentelemetry/api@1.10.0', '@opentelemetry/sdk-logs@3.1.1', 'winston@3.19.0'],
    sdk: 'sdk.ts',
    typeCheck: ['--exactOptionalPropertyTypes', 'types.ts', 'sdk.ts'],
  },
  {
    with: 'OpenTelemetry 0.223',
    dependencies: ['@opentelemetry/api@1.9.1', '@opentelemetry/sdk-logs@0.223.1', 'winston@3.19.0'],
    sdk: 'sdk.ts',
    typeCheck: ['--exactOptionalPropertyTypes', 'types.ts', 'sdk.ts'],
  },
  {
    with: 'the oldest versions supported',
    dependencies: ['@opentelemetry/api@1.4.0', '@opentelemetry/sdk-logs@0.200.0', 'winston@3.8.0'],
    sdk: 'sdk-0.200.mjs',
    typeCheck: ['types.ts'], // the SDK's own declarations fail with exactOptionalPropertyTypes
  },
]

describe.each(applications)('an application with $with', ({ dependencies, sdk, typeCheck }) => {
  let application: Application

  beforeAll(async () => {
    application = await Application.install('logging', ['@types/node@24.19.2', ...dependencies])
  })
  afterAll(() => application?.remove())

  it.each(['nodenext', 'bundler'] as const)('passes a strict type check (%s)', async moduleResolution => {
    await application.typeCheck(moduleResolution, ...typeCheck)
  })

  it.each(['processor', 'exporter'])('ships 3,000 log records through the %s: all, once, in order', async way => {
    await application.node('otel.mjs', way, `./${sdk}`)
  })

  it('ships 3,000 Winston calls: all, once, in order', async () => {
    await application.node('winston.mjs')
  })
})
