import { dirname } from 'node:path'
import type { NextConfig } from 'next'

const config: NextConfig = {
  // Loaded by Node, not bundled. So the whole server shares one copy, with one set of exit hooks.
  serverExternalPackages: ['logferry', 'winston'],
  // A folder with server.js and only the files it needs, as containers run it.
  output: 'standalone',
  turbopack: { root: dirname(import.meta.dirname) },
  outputFileTracingRoot: dirname(import.meta.dirname),
}

export default config
