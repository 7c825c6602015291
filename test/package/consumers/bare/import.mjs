import assert from 'node:assert/strict'
import entryPoints from './entry-points.cjs'

assert.equal(entryPoints.length, 5)
for (const name of entryPoints) {
  const module = await import(name)
  assert.notDeepEqual(Object.keys(module), [], `${name} exports nothing`)
}
