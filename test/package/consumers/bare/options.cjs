/** Fails unless the code that an option alone needs is loaded with the first shipper that has the option. */
const assert = require('node:assert')
const { mkdtempSync, rmSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { basename, join } = require('node:path')
const { createShipper } = require('logferry')

const directory = mkdtempSync(join(tmpdir(), 'logferry-options-'))
const anything = new Proxy(() => {}, { get: () => anything, apply: () => anything })
const optionsOfChunks = {
  redaction: { redact: ['password'] },
  noise: { collapse: { windowMs: 1000 } },
  fields: { fields: {} },
  org: { limits: { orgId: 'acme' } },
  metrics: { meterProvider: anything },
  spooling: { spool: { directory } },
}

const isLoaded = chunk => Object.keys(require.cache).some(file => basename(file) === `${chunk}.cjs`)

async function open(options) {
  const shipper = createShipper({ baseUrl: 'http://127.0.0.1:9', token: 't', dataset: 'd', ...options })
  await shipper.close({ timeoutMs: 0 })
}

async function main() {
  await open({})
  for (const chunk of Object.keys(optionsOfChunks)) assert(!isLoaded(chunk), `${chunk} is loaded without its option`)
  for (const [chunk, options] of Object.entries(optionsOfChunks)) {
    await open(options)
    assert(isLoaded(chunk), `${chunk} is not loaded with its option`)
  }
}

main().finally(() => rmSync(directory, { recursive: true }))
