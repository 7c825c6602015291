import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { defineConfig } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'

const { engines } = JSON.parse(readFileSync('package.json', 'utf8'))
const entryPoints = ['index', 'winston', 'otel', 'org', 'emulator']

/**
 * Packages whose used part is published with us, with their license. A tenth of valibot is used, and loading all of it takes
 * 3 ms. Only the commands need the others.
 */
const bundled = {
  valibot: 'LICENSE.md',
  commander: 'LICENSE',
  '@bufbuild/protobuf': '../../@opentelemetry/api/LICENSE', // Apache-2.0 too, without a file of its own
  zod: 'LICENSE',
  '@modelcontextprotocol/server': 'LICENSE',
  '@modelcontextprotocol/core': 'LICENSE',
}

/** Chunks of code that only an option needs, which the core names where it creates what the option asks for. */
const chunksOfOptions = ['fields', 'metrics', 'noise', 'org', 'redaction', 'spooling']
/** What such a chunk needs is in 'record' and 'common', so that no two chunks need one another. */
const ofOption = { priority: 3, includeDependenciesRecursively: false }

const getterOfExport =
  /Object\.defineProperty\(exports, ['"]([\w$]+)['"], \{\s+enumerable: true,\s+get: function ?\(\) \{\s+return ([\w$]+);\s+\}\s+\}\);/g

/**
 * What is published: the code once, as CommonJS, and ES modules that only name its exports. So an application that both
 * imports and requires the package has one copy of what it knows: exit hooks, time stamps, shippers.
 *
 * Loading a module takes Node about 0.25 ms, however small the module is, and the transport has 80 of them. So modules
 * are joined by folder; an entry point loads no folder that another alone needs. What an option alone needs is loaded by
 * the first shipper with that option.
 */
const code = defineConfig({
  input: { ...inputs(name => `src/${name}.ts`), 'cli/main': 'src/cli/main.ts' },
  external: id => isPackage(id) && !Object.hasOwn(bundled, packageOf(id)),
  resolve: {
    alias: { '@modelcontextprotocol/server/_shims': join(import.meta.dirname, 'src/cli/mcp/sdk-shims.ts') },
  },
  platform: 'node',
  preserveEntrySignatures: 'allow-extension', // as `includeDependenciesRecursively: false` needs
  // The build runs on a newer Node than applications may have: `using` is a syntax error there.
  transform: { target: `node${engines.node.replace('>=', '')}` },
  output: {
    dir: 'dist',
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: chunk => (isOfCommand(chunk.facadeModuleId) ? 'cli/[name].cjs' : 'shared/[name].cjs'),
    codeSplitting: {
      groups: [
        {
          name: 'common',
          test: /src\/(errors|outcome|own-properties|files|accounting|stack-reserve|time|outside-requests|native-promise|options|text|http|usage\/statement-text|fields\/value-like-name)|valibot/,
          priority: 4,
        },
        { name: 'org', test: /src\/org\//, ...ofOption },
        { name: 'fields', test: /src\/fields/, ...ofOption },
        { name: 'redaction', test: /src\/record\/(redact|censor\.)/, ...ofOption },
        {
          name: 'noise',
          test: /src\/shipper\/intake\/(collapse|late-time|trace-hold|held-traces|repeat-)/,
          ...ofOption,
        },
        { name: 'metrics', test: /src\/shipper\/(instruments|metric-definitions)/, ...ofOption },
        {
          name: 'spooling',
          test: /src\/(shipper\/spool-coordinator|spool\/(?!inspect|read-spool|resend-directory|spool-tail|verify))/,
          ...ofOption,
        },
        { name: 'emulator', test: /src\/emulator\//, priority: 3 },
        // Each command is a chunk of its own, which loads when the command runs. What all commands load is here, and loads no
        // other chunk of theirs.
        {
          name: 'command-line',
          test: /src\/cli\/(run|command|commands|command-line|output-ended|print|package-version|stop-signals)\.ts|commander/,
          priority: 3,
        },
        { name: 'record', test: /src\/(record|batch)\//, priority: 2.5 },
        { name: 'core', test: /src\/(shipper|delivery|exit)\//, priority: 2 },
        {
          name: 'dev-events',
          test: /src\/dev\/(protocol|text-within|fetch-here|cut-text|event|index|query|live\/(?!live-))/,
          priority: 2,
        },
        { name: 'otlp', test: /src\/dev\/intake\/otlp-(logs|request|schema|size)|@bufbuild/, priority: 1.5 },
        { name: 'dev-service', test: /src\/dev\//, priority: 1 },
        // What commands share. Applications load none of it: what they need of the spool is in 'core'.
        { name: 'spool', test: /src\/(spool\/|cli\/spool\.ts)/, priority: 1.8 },
        { name: 'sending', test: /src\/cli\/(service|standstill|spool-delivery)\.ts/, priority: 1.6 },
        { name: 'events', test: /src\/cli\/events\//, priority: 1.4 },
        { name: 'mcp-server', test: /src\/cli\/mcp\/|@modelcontextprotocol|node_modules\/zod/, priority: 1.2 },
        { name: 'file-lines', test: /src\/(cli\/file-lines|number-ranges|numbered-uid)/, priority: 2 }, // all that `audit` shares with dev
      ].map(group => ({ ...group, test: id => group.test.test(pathWithin(id)) })),
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
          this.emitFile({ type: 'asset', fileName: `shared/${name.replace('/', '-')}-LICENSE.md`, source })
        }
      },
    },
    {
      name: 'request-worker-as-text',
      /** Who bundles us may rename what is in the function, and use helpers that the worker does not have. */
      async transform(_, id) {
        if (!id.endsWith('/src/http/request-worker.ts')) return undefined
        const { runRequestWorker } = await import(pathToFileURL(id))
        return { code: `export const runRequestWorker = ${JSON.stringify(String(runRequestWorker))}`, moduleType: 'js' }
      },
    },
    {
      name: 'commander-without-child-process',
      /** Only commands that are executables of their own, which we do not have, need it. Loading it takes 4 ms. */
      transform(source, id) {
        if (!id.endsWith('/commander/lib/command.js')) return undefined
        const code = source
          .replace(/^import childProcess from 'node:child_process';$/m, '')
          .replaceAll('childProcess.', "process.getBuiltinModule('node:child_process').")
        if (code.includes('childProcess')) this.error('commander uses another part of node:child_process.')
        return { code }
      },
    },
    {
      name: 'modules-of-node-without-require',
      /**
       * An application that esbuild bundles as an ES module has no `require`, and our packages come with the bundle. On a Node
       * that lacks the function, and on an edge runtime, where it throws, the first module that runs says what is needed.
       */
      renderChunk: source => {
        const builtin = `(typeof process !== 'undefined' && process.versions?.node && process.getBuiltinModule?.($1))`
        return source.replace(/\brequire\(("node:[^"]+")\)/g, builtin)
      },
    },
    {
      name: 'options-load-their-code',
      renderChunk(source, { name }) {
        if (name !== 'core') return undefined
        return chunksOfOptions.reduce((code, chunk) => {
          const [statement, load] = code.match(new RegExp(`const require_${chunk} = (require\\("[^"]+"\\));`)) ?? []
          if (statement === undefined) this.error(`The core does not load the chunk ${chunk}.`)
          return code
            .replace(statement, `const require_${chunk} = () => ${load};`)
            .replace(new RegExp(`\\bnew require_${chunk}\\.(\\w+)`, 'g'), `new (require_${chunk}().$1)`)
            .replaceAll(`require_${chunk}.`, `require_${chunk}().`)
        }, source)
      },
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

/** Maximum size of the page of `logferry dev`, compressed. It is part of the package, so its size is a promise. */
const maxPageBytes = 150_000

/** What the page bundles, and the license of each. */
const inPage = ['preact', 'uplot']

/** The page of `logferry dev`: one HTML file that has its script and style inside, and their hashes for its policy. */
const page = defineConfig({
  input: 'src/dev/page/main.tsx',
  platform: 'browser',
  transform: { jsx: { importSource: 'preact' } },
  output: { dir: 'dist/dev', format: 'iife', minify: true, comments: false },
  plugins: [
    {
      name: 'page-in-one-file',
      /** Some browsers name a language that `Intl` rejects. The chart writes numbers as the rest of the page does. */
      transform: (code, id) => (id.includes('uplot') ? code.replace('nav.language', "'en-US'") : undefined),
      generateBundle(_, bundle) {
        const [script] = Object.values(bundle)
        const sources = ['node_modules/uplot/dist/uPlot.min.css', 'src/dev/page/tokens.css', 'src/dev/page/page.css']
        const style = minified(sources.map(file => readFileSync(file, 'utf8')).join('\n'))
        const code = script.code.trim()
        if (/<\/script|<!--/i.test(code)) this.error('The script would end its own element.')
        if (/\beval\(|\bnew Function\(/.test(code))
          this.error('The script makes code of text, which its policy forbids.')
        if (/\.language\b/.test(code)) this.error('The script depends on the language of the browser.')
        const icon = `data:image/svg+xml,${encodeURIComponent(readFileSync('docs/site/favicon.svg', 'utf8'))}`
        const html = readFileSync('src/dev/page/page.html', 'utf8')
          .replace('rel="icon" href=""', () => `rel="icon" href="${icon}"`)
          .replace('<style></style>', () => `<style>${style}</style>`)
          .replace('<script></script>', () => `<script>${code}</script>`)
        const size = gzipSync(html).length
        if (size > maxPageBytes) this.error(`The page has ${size} bytes compressed; ${maxPageBytes} are allowed.`)
        const hashes = { script: [sha256(code)], style: [sha256(style)] }
        delete bundle[script.fileName]
        this.emitFile({ type: 'asset', fileName: 'page.html', source: html })
        this.emitFile({ type: 'asset', fileName: 'page.json', source: JSON.stringify(hashes) })
        const licenses = inPage.map(name => `${name}\n\n${readFileSync(`node_modules/${name}/LICENSE`, 'utf8')}`)
        this.emitFile({ type: 'asset', fileName: 'page-LICENSES.txt', source: licenses.join('\n\n') })
      },
    },
  ],
})

export default [code, declarations, page]

/** The source that a policy names to allow an element with this text. */
function sha256(text) {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}

/** Leaves out comments, and spaces that mean nothing. Compression does the rest. */
function minified(css) {
  return css
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([{};]) ?/g, '$1')
    .trim()
}

function inputs(pathOf) {
  return Object.fromEntries(entryPoints.map(name => [name, pathOf(name)]))
}

function isOfCommand(id) {
  return typeof id === 'string' && pathWithin(id).startsWith('src/cli/')
}

/** The path of a module below this folder, whose own path may look like anything: `~/src/dev/logferry`. */
function pathWithin(id) {
  return relative(import.meta.dirname, id)
}

/** The name of the package that an import names, which may name a part of it. */
function packageOf(id) {
  return /^(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? ''
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
