import { readFileSync } from 'node:fs'
import { defineConfig } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'

const entryPoints = ['index', 'winston', 'otel', 'org', 'emulator']

/**
 * Packages whose used part is published with us, with their license. A tenth of valibot is used, and loading all of it takes
 * 3 ms. Only the commands need commander.
 */
const bundled = { valibot: 'LICENSE.md', commander: 'LICENSE' }

const getterOfExport =
  /Object\.defineProperty\(exports, ['"]([\w$]+)['"], \{\s+enumerable: true,\s+get: function ?\(\) \{\s+return ([\w$]+);\s+\}\s+\}\);/g

/**
 * What is published: the code once, as CommonJS, and ES modules that only name its exports. So an application that both
 * imports and requires the package has one copy of what it knows: exit hooks, time stamps, shippers.
 *
 * Loading a module takes Node about 0.25 ms, however small the module is, and the transport has 80 of them. So modules
 * are joined by folder; an entry point loads no folder that another alone needs.
 */
const code = defineConfig({
  input: { ...inputs(name => `src/${name}.ts`), 'cli/main': 'src/cli/main.ts' },
  external: id => isPackage(id) && !Object.hasOwn(bundled, id),
  platform: 'node',
  output: {
    dir: 'dist',
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: chunk => (chunk.moduleIds.some(isOfCommand) ? 'cli/[name].cjs' : 'shared/[name].cjs'),
    codeSplitting: {
      groups: [
        {
          name: 'common',
          test: /src\/(errors|outcome|own-properties|accounting|stack-reserve|time|options|text|http)|valibot/,
          priority: 4,
        },
        { name: 'org', test: /src\/org/, priority: 3 },
        { name: 'emulator', test: /src\/emulator/, priority: 3 },
        { name: 'core', test: /src\/(index|shipper|record|batch|delivery|exit)/, priority: 2 },
        // Each command is a chunk of its own, which loads when the command runs.
        {
          name: 'command-line',
          test: /src\/cli\/(run|command|commands|command-line|print)\.ts|commander/,
          priority: 1,
        },
      ],
    },
    comments: false,
    dynamicImportInCjs: false, // import() fails where CommonJS runs in a context of its own, as in Jest
    esModule: false,
  },
  plugins: [
    {
      name: 'license-of-what-is-bundled',
      generateBundle() {
        for (const [name, file] of Object.entries(bundled)) {
          const source = readFileSync(`node_modules/${name}/${file}`)
          this.emitFile({ type: 'asset', fileName: `shared/${name}-LICENSE.md`, source })
        }
      },
    },
    {
      name: 'request-worker-as-text',
      /** Who bundles us may rename what is in the function, and use helpers that the worker does not have. */
      async transform(_, id) {
        if (!id.endsWith('/src/http/request-worker.ts')) return undefined
        const { runRequestWorker } = await import(id)
        return { code: `export const runRequestWorker = ${JSON.stringify(String(runRequestWorker))}`, moduleType: 'js' }
      },
    },
    {
      name: 'modules-of-node-without-require',
      /**
       * An application that esbuild bundles as an ES module has no `require`, and our packages come with the bundle. On a Node
       * that lacks the function, which Node is needed is said by the first module that runs.
       */
      renderChunk: source => source.replace(/\brequire\(("node:[^"]+")\)/g, 'process.getBuiltinModule?.($1)'),
    },
    {
      name: 'exports-without-getters',
      /** A getter needs a frame of the stack, and a log call must end well where there is none. No export changes. */
      renderChunk: source => source.replace(getterOfExport, 'exports.$1 = $2;'),
    },
    esModules('.js', ({ exports, name }) => `export { ${exports.join(', ')} } from './${name}.cjs'\n`),
  ],
})

/** The declarations that the entry points need, from those that the compiler has made of every module. */
const declarations = defineConfig({
  input: inputs(name => `build/types/${name}.d.ts`),
  external: isPackage,
  output: {
    dir: 'dist',
    format: 'esm',
    entryFileNames: '[name].d.cts',
    chunkFileNames: 'shared/[name].cts',
    codeSplitting: { groups: [{ name: 'types.d', minShareCount: 2 }] }, // one chunk: a class declared twice would be two types
  },
  plugins: [
    dts({ dtsInput: true, generator: 'oxc', tsconfig: false }),
    {
      name: 'default-imports-as-in-commonjs',
      /** What a CommonJS module exports as a whole can be imported by default with `esModuleInterop` alone. */
      renderChunk: source => source.replace(/^import (\w+) from ("[^."][^"]*");$/gm, 'import $1 = require($2);'),
    },
    esModules('.d.ts', ({ name }) => `export * from './${name.replace(/\.d$/, '')}.cjs'\n`),
  ],
})

export default [code, declarations]

function inputs(pathOf) {
  return Object.fromEntries(entryPoints.map(name => [name, pathOf(name)]))
}

function isOfCommand(id) {
  return id.includes('/src/cli/')
}

function isPackage(id) {
  return /^[^./]/.test(id)
}

/** Writes an ES module beside each entry point. */
function esModules(extension, sourceOf) {
  return {
    name: `es-modules${extension}`,
    generateBundle(_, bundle) {
      for (const chunk of Object.values(bundle)) {
        if (!chunk.isEntry || !entryPoints.includes(chunk.name.replace(/\.d$/, ''))) continue
        this.emitFile({ type: 'asset', fileName: chunk.name + extension, source: sourceOf(chunk) })
      }
    },
  }
}
