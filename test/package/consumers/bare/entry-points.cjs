// Every entry point that the installed package has, by the name it is imported with.
const packageJson = require('logferry/package.json')

module.exports = Object.keys(packageJson.exports)
  .filter(path => path !== './package.json')
  .map(path => path.replace('.', packageJson.name))
