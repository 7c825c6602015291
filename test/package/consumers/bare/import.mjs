import assert from 'node:assert/strict'
import entryPoints from './entry-points.cjs'

const exported = {
  logferry: ['NotConfirmedError', 'createShipper'],
  'logferry/winston': ['LogferryTransport'],
  'logferry/otel': ['LogferryLogRecordExporter', 'LogferryLogRecordProcessor'],
  'logferry/org': ['OrgError', 'createOrgClient'],
  'logferry/emulator': ['startEmulator'],
}

assert.deepEqual(entryPoints, Object.keys(exported))
for (const name of entryPoints) {
  const module = await import(name)
  assert.deepEqual(Object.keys(module), exported[name], `what ${name} exports`)
}
