const assert = require('node:assert/strict')
const entryPoints = require('./entry-points.cjs')

assert.equal(entryPoints.length, 5)
for (const name of entryPoints) {
  assert.notDeepEqual(Object.keys(require(name)), [], `${name} exports nothing`)
}
