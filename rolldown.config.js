import { readFileSync } from 'node:fs'
import { defineConfig } from 'rolldown'

/** Of this one a tenth is used, and to load the whole of it takes 3 ms: that tenth is published with us, and its licence. */
const bundled = 'valibot'

/**
 * What is published: each entry point as one file, with what several of them need in files that they share. To load a
 * module takes Node about 0.25 ms, however small it is; the transport has 80 of them.
 */
export default defineConfig({
  input: {
    index: 'src/index.ts',
    winston: 'src/winston.ts',
    otel: 'src/otel.ts',
    org: 'src/org.ts',
    emulator: 'src/emulator.ts',
    'cli/main': 'src/cli/main.ts',
  },
  external: id => /^[^./]/.test(id) && id !== bundled,
  platform: 'node',
  output: {
    dir: 'dist',
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'shared/[name].js',
    comments: false,
  },
  plugins: [
    {
      name: 'licence-of-what-is-bundled',
      generateBundle() {
        const source = readFileSync(`node_modules/${bundled}/LICENSE.md`)
        this.emitFile({ type: 'asset', fileName: `shared/${bundled}-LICENSE.md`, source })
      },
    },
    {
      name: 'errands-as-text',
      /** Who bundles us may rename what is in the function, and use helpers that the worker does not have. */
      async transform(_, id) {
        if (!id.endsWith('/src/exit/errands.ts')) return undefined
        const { runErrands } = await import(id)
        return { code: `export const runErrands = ${JSON.stringify(String(runErrands))}`, moduleType: 'js' }
      },
    },
  ],
})
