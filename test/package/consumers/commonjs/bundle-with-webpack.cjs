// `node bundle-with-webpack.cjs MODULE` writes bundled/with-webpack.cjs. Fails on warnings, too.
const webpack = require('webpack')

const output = { path: `${__dirname}/bundled`, filename: 'with-webpack.cjs' }
const entry = `./${process.argv[2]}`
webpack({ mode: 'production', target: 'node', context: __dirname, entry, output }, (error, stats) => {
  if (error) throw error
  if (stats.hasErrors() || stats.hasWarnings()) throw new Error(stats.toString('errors-warnings'))
})
