import { createRequire } from 'node:module'
import { afterAll, afterEach, beforeEach, describe, it } from 'vitest'
import { LogferryTransport } from '../src/winston.ts'

// winston's own suite for transports speaks mocha's dialect: globals, `after`, and `done` callbacks.

type Body = (done?: (error?: unknown) => void) => unknown

const awaited = (body: Body) => async (): Promise<void> => {
  if (body.length === 0) return void (await body())
  await new Promise<void>((resolve, reject) => body(error => (error ? reject(error) : resolve())))
}

Object.assign(globalThis, {
  describe,
  it: (name: string, body: Body) => it(name, awaited(body)),
  beforeEach: (body: Body) => beforeEach(awaited(body)),
  afterEach: (body: Body) => afterEach(awaited(body)),
  after: (body: Body) => afterAll(awaited(body)),
})

createRequire(import.meta.url)('abstract-winston-transport')({
  name: 'logferry',
  Transport: LogferryTransport,
  construct: { baseUrl: 'http://127.0.0.1:9', token: 't', dataset: 'd', exitTimeoutMs: 0 },
})
