/**
 * Applications keep what belongs to a request in an `AsyncLocalStorage`, and so do frameworks and monitoring agents.
 * Delivery belongs to no request, although the log call of a request may start it.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { mkdtempDisposable } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { isTracingSuppressed } from '@opentelemetry/core'
import { expect, it, vi } from 'vitest'
import winston from 'winston'
import type { ShipperOptions } from '../src/index.ts'
import { delay } from '../src/time.ts'
import { LogferryTransport } from '../src/winston.ts'
import { emulated } from './support/emulated.ts'
import { runScript } from './support/run-script.ts'
import { startShipping } from './support/shipping.ts'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

const served = new AsyncLocalStorage<{ id: number }>()

/** Calls `read` at each request that this process makes by `node:http`. */
function atEachRequest<T>(read: () => T): Disposable & { readonly seen: T[] } {
  const http = process.getBuiltinModule('node:http')
  const seen: T[] = []
  const spy = vi.spyOn(http, 'request').mockImplementation((...given: unknown[]) => {
    seen.push(read())
    return Reflect.apply(request, http, given)
  })
  return { seen, [Symbol.dispose]: () => spy.mockRestore() }
}

it('calls listeners outside of the request whose log call has caused the delivery', async () => {
  await using shipping = await startShipping()
  shipping.emulator.faults.answerNext(2, { status: 503 })
  const shipper = served.run({ id: 0 }, () => shipping.ship({ maxBatchAgeMs: 20, maxRetryDelayMs: 20 }))
  const heard: Record<string, unknown[]> = { attempted: [], retried: [], delivered: [] }
  for (const name of ['attempted', 'retried', 'delivered'] as const)
    shipper.on(name, () => heard[name]?.push(served.getStore()))
  for (let id = 1; id <= 5; id++) {
    served.run({ id }, () => shipper.ship({ id }))
    await served.run({ id }, () => shipper.flush())
  }
  expect(heard.attempted?.length).toBeGreaterThan(5)
  expect(heard.retried).not.toEqual([])
  expect(heard.delivered).toHaveLength(5)
  expect(new Set(Object.values(heard).flat())).toEqual(new Set([undefined]))
})

it('makes requests outside of that request, so that agents do not count them as a part of it', async () => {
  await using service = await emulated({ maxBatchAgeMs: 20 })
  using stores = atEachRequest(() => served.getStore())
  served.run({ id: 1 }, () => service.logs.log(0, 1))
  await vi.waitFor(() => expect(service.numbers()).toEqual([0]))
  await served.run({ id: 2 }, () => {
    service.logs.log(1, 2)
    return service.logs.close()
  })
  expect(stores.seen).toEqual([undefined, undefined])
})

it('makes no request that OpenTelemetry traces, over a new connection or over a kept one', async () => {
  const manager = new AsyncLocalStorageContextManager().enable()
  context.setGlobalContextManager(manager)
  try {
    await using service = await emulated({ maxBatchAgeMs: 20 })
    using suppressed = atEachRequest(() => isTracingSuppressed(context.active()))
    for (let n = 0; n < 3; n++) {
      service.logs.log(n, n + 1)
      await vi.waitFor(() => expect(service.numbers()).toHaveLength(n + 1))
      await delay(20) // a connection that was just used is used again without a look at what it has received
    }
    expect(suppressed.seen.length).toBeGreaterThanOrEqual(3) // more if a kept connection had ended, and a request was made again
    expect(new Set(suppressed.seen)).toEqual(new Set([true]))
  } finally {
    context.disable()
  }
})

it('makes no call to Redis that OpenTelemetry traces, even if Redis has not heard of the script', async () => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  try {
    await using shipping = await startShipping()
    const suppressed: Record<string, boolean> = {}
    const hear = async (call: string, answer: Error) => {
      suppressed[call] = isTracingSuppressed(context.active())
      throw answer
    }
    const redis = {
      sendCommand: () => undefined,
      evalSha: (_hash: string, { arguments: [, action] }: { arguments: string[] }) =>
        hear(`evalSha ${action}`, new Error('NOSCRIPT No matching script')),
      eval: (_script: string, { arguments: [, action] }: { arguments: string[] }) =>
        hear(`eval ${action}`, new Error('LOADING')),
    }
    const { orgId, accessToken } = shipping.emulator
    const shipper = shipping.ship({ limits: { orgId, accessToken, fleet: { redis } } })
    shipper.ship({ n: 0 })
    await shipper.close()
    expect(suppressed).toEqual({
      'evalSha renew': true,
      'eval renew': true,
      'evalSha leave': true,
      'eval leave': true,
    })
  } finally {
    context.disable()
  }
})

it.each(['memory', 'disk'] as const)('keeps no request in memory, with durability %s', async durability => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-requests-'))
  await using shipping = await startShipping()
  const options: ShipperOptions =
    durability === 'memory' ? {} : { durability, spool: { directory: join(directory.path, 'spool') } }
  const requests: WeakRef<object>[] = []
  const serve = <T>(run: () => T): T => {
    const store = { id: requests.length }
    requests.push(new WeakRef(store))
    return served.run(store, run)
  }
  // As an application that creates its logger when the first request is served.
  const shipper = serve(() => shipping.ship({ ...options, maxBatchAgeMs: 20 }))
  const logger = serve(() => winston.createLogger({ transports: [new LogferryTransport({ shipper })] }))
  for (let n = 0; n < 3; n++) {
    serve(() => logger.info('served', { n }))
    await serve(() => shipper.flush())
  }
  await shipping.emulator.waitForEvents('d', 3)
  await vi.waitFor(() => {
    gc()
    expect(requests.filter(one => one.deref() !== undefined)).toEqual([])
  })
})

it('leaves no asynchronous resource that Jest reports as an open handle', async () => {
  const { stdout, stderr } = await runScript(`
    import { createHook } from 'node:async_hooks'
    const open = new Map()
    const hook = createHook({ init: (id, type) => open.set(id, type), destroy: id => open.delete(id) }).enable()
    await import('./dist/index.js')
    await new Promise(resolve => setTimeout(resolve, 100)) // resources are destroyed some turns later
    hook.disable()
    console.log([...open.values()].filter(type => type === 'logferry' || type.startsWith('bound')))
  `)
  expect([stdout, stderr]).toEqual(['[]\n', ''])
})
