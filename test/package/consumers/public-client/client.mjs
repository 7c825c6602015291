import assert from 'node:assert/strict'
import { Axiom, AxiomWithoutBatching, ContentEncoding, ContentType } from '@axiomhq/js'
import { startEmulator } from 'logferry/emulator'

const events = Array.from({ length: 1000 }, (_, id) => ({ _time: new Date(id).toISOString(), order: { id } }))
const emulator = await startEmulator()
const options = {
  url: emulator.url,
  token: emulator.token,
  onError: error => {
    throw error
  },
}

const direct = new AxiomWithoutBatching(options)
const status = await direct.ingest('gzip', events)
assert.equal(status.ingested, 1000)
assert.equal(status.failed, 0)
assert.equal(emulator.requests().at(-1).contentEncoding, 'gzip')
assert.deepEqual(emulator.events('gzip'), events)

const lines = events.map(event => JSON.stringify(event)).join('\n')
await direct.ingestRaw('ndjson', lines, ContentType.NDJSON, ContentEncoding.Identity)
assert.equal(emulator.requests().at(-1).contentType, 'application/x-ndjson')
assert.deepEqual(emulator.events('ndjson'), events)

const batching = new Axiom(options)
for (const event of events) batching.ingest('batched', event)
await batching.flush()
assert.deepEqual(emulator.events('batched'), events)

await emulator.close()
