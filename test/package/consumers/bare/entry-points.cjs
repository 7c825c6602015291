// Every entry point of the installed package, by its import name.
const packageJson = require('logferry/package.json')

module.exports = Object.keys(packageJson.exports)
  .filter(path => path !== './package.json')
  .map(path => path.replace('.', packageJson.name))
