/**
 * The permitted dependencies between the parts of the product. They are read from `src` without its types, so that only
 * the code that runs counts. A type may be imported from anywhere, with the exceptions in `notEvenForTypes`. Biome
 * checks that there are no cycles, not even of types (`noImportCycles`).
 */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { init, parse } from 'es-module-lexer'
import { describe, expect, it } from 'vitest'
import packageJson from '../package.json' with { type: 'json' }

interface MayLoad {
  /** Parts of the product: a folder, or one file. A part may always load its own modules. */
  parts: readonly string[]
  /** Packages from the registry. */
  packages?: readonly string[]
}

/** The parts below every stage. Text from outside may come in anywhere, and is made harmless in one way. */
const common = [
  'errors',
  'outcome',
  'accounting/',
  'options/',
  'native-promise',
  'node-version',
  'files/',
  'own-listeners',
  'own-properties',
  'outside-requests',
  'text/',
  'stack-reserve',
  'time',
  'time-limits',
]
const stages = ['record/', 'batch/', 'delivery/', 'spool/', 'exit/', 'org/', 'fields/', 'usage/']

/** Imports run one way: adapters → shipper → stages → common. A stage loads no other stage. */
const parts: Readonly<Record<string, MayLoad>> = {
  // Adapters and entry points
  winston: { parts: ['shipper/', 'record/', ...common], packages: ['winston-transport'] },
  otel: { parts: ['shipper/', 'record/', ...common] },
  index: { parts: ['shipper/', ...common] },
  org: { parts: ['org/', 'http/', ...common] },
  emulator: { parts: ['emulator/'] },
  // The commands load what applications import, and parts that applications do not need, such as tools for the spool.
  'cli/': {
    parts: [
      'index',
      'org',
      'emulator',
      'dev/',
      'shipper/',
      'spool/',
      'org/',
      'accounting/drop-reasons',
      'accounting/severity',
      'delivery/request',
      'files/',
      'http/',
      'options/',
      'node-version',
      'number-ranges',
      'numbered-uid',
      'text/',
      'time',
      'time-limits',
    ],
    packages: [
      'commander',
      'valibot',
      'zod',
      '@modelcontextprotocol/server',
      '@modelcontextprotocol/server/stdio',
      '@modelcontextprotocol/server/validators/cf-worker',
    ],
  },
  // The one wiring
  'shipper/': { parts: [...stages, 'http/', ...common] },
  // Stages
  'record/': {
    parts: [
      'accounting/severity',
      'native-promise',
      'node-version',
      'own-properties',
      'stack-reserve',
      'text/detached',
      'text/kind-of-thrown',
      'text/kind-of-value',
      'time',
      'time-limits',
    ],
    packages: ['logform'],
  },
  'batch/': { parts: common },
  'delivery/': { parts: ['http/', ...common] },
  // The spool connects to the owners of directories to learn if they live. These connections are not traced either.
  'spool/': { parts: ['http/without-tracing', ...common] },
  'exit/': { parts: ['http/worker-client', ...common] },
  'org/': { parts: ['http/', 'fields/', ...common], packages: ['valibot'] },
  'fields/': { parts: common },
  'usage/': { parts: common },
  // It shows what the service for tests has stored, by statement and level as the shipper counts. OTLP becomes the same
  // events as by our own exporter.
  'dev/': {
    parts: [
      'emulator/',
      'record/',
      'usage/statement-text',
      'fields/value-like-name',
      'accounting/severity',
      'files/',
      'number-ranges',
      'numbered-uid',
      'options/loopback',
      'text/',
      'time',
    ],
    packages: ['@bufbuild/protobuf', '@bufbuild/protobuf/wire', '@bufbuild/protobuf/wkt', 'valibot'],
  },
  'emulator/': {
    parts: [
      'native-promise',
      'node-version',
      'options/loopback',
      'outside-requests',
      'own-properties',
      'text/',
      'time',
    ],
  },
  // Common
  'options/': {
    parts: [
      'accounting/severity',
      'errors',
      'http/credentials',
      'http/encodings',
      'node-version',
      'own-properties',
      'text/',
      'time',
    ],
    packages: ['valibot'],
  },
  'http/': {
    parts: ['accounting/diagnostics', 'errors', 'native-promise', 'own-properties', 'text/', 'time', 'time-limits'],
  },
  // The ground floor
  'accounting/': { parts: ['errors', 'native-promise', 'outcome', 'own-listeners', 'own-properties', 'text/', 'time'] },
  outcome: { parts: [] },
  errors: { parts: ['text/'] },
  'own-listeners': { parts: [] },
  'own-properties': { parts: [] },
  'text/': { parts: [] },
  'stack-reserve': { parts: [] },
  time: { parts: ['native-promise', 'node-version', 'outside-requests'] },
  'native-promise': { parts: [] },
  'outside-requests': { parts: ['node-version'] },
  'node-version': { parts: [] },
  'files/': { parts: ['node-version', 'own-properties', 'time'] },
  'number-ranges': { parts: [] },
  'numbered-uid': { parts: [] },
  'time-limits': { parts: ['native-promise', 'own-properties', 'time'] },
}

/** Arrows that are forbidden for types as well: the first part must not know that the second exists. */
const notEvenForTypes: readonly (readonly [from: string, to: string])[] = [
  ['options/', 'org/'],
  ['http/', 'options/'],
]

/** The parts that importing an entry point may load. A log call may load more. */
const core = ['index', 'shipper/', ...stages, 'http/', ...common]
const entryPoints: Readonly<Record<string, MayLoad>> = {
  '.': { parts: core, packages: ['valibot'] },
  './winston': { parts: ['winston', ...core], packages: ['valibot', 'winston-transport'] },
  './otel': { parts: ['otel', ...core], packages: ['valibot'] },
  './org': { parts: ['org', 'org/', 'http/', ...common], packages: ['valibot'] },
  './emulator': {
    parts: [
      'emulator',
      'emulator/',
      'options/',
      'native-promise',
      'node-version',
      'outside-requests',
      'own-properties',
      'text/',
      'time',
    ],
  },
}

const src = new URL('../src/', import.meta.url)
const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .map(file => file.replaceAll('\\', '/'))
  // The page of the dev service runs in a browser, where no application fakes the clocks.
  .filter(file => file.endsWith('.ts') && !file.startsWith('dev/page/'))

describe('imports', async () => {
  await init
  const imports = files.flatMap(file => importsOf(file))

  it('are found, for example those of the Winston transport', () => {
    expect(imports).toContainEqual({ file: 'winston', target: 'shipper/shipper-of', isPackage: false })
    expect(imports).toContainEqual({ file: 'winston', target: 'winston-transport', isPackage: true })
  })

  it('run one way: from the adapters down, and never from stage to stage', () => {
    const wrong = imports.filter(({ file, target, isPackage }) => {
      return !isPackage && partOf(target) !== partOf(file) && !isCovered(target, parts[partOf(file)]?.parts)
    })
    expect(shown(wrong)).toEqual([])
  })

  it.each(notEvenForTypes)('never lead from %s to %s, not even for a type', (from, to) => {
    const named = files.filter(file => partOf(file) === from).flatMap(namedBy)
    expect(named).not.toEqual([])
    expect(shown(named.filter(({ target }) => partOf(target) === to))).toEqual([])
  })

  it('load a package only in the part that needs it, and of the logging libraries only the base class of transports', () => {
    const wrong = imports.filter(({ file, target, isPackage }) => {
      return isPackage && !parts[partOf(file)]?.packages?.includes(target)
    })
    expect(shown(wrong)).toEqual([])
  })

  it('name every module literally', () => {
    expect(shown(imports.filter(({ target }) => target === ''))).toEqual([])
  })

  it('take single functions of Node on the path of events, because a CommonJS namespace has slow getters', () => {
    const hotPath = files.filter(file => /^(winston|otel|(shipper|record|batch|delivery)\/.*)\.ts$/.test(file))
    const namespace = /^import (?!type\b)(\* as )?\w+ from 'node:/m
    expect(hotPath.length).toBeGreaterThan(50)
    expect(hotPath.filter(file => namespace.test(readFileSync(new URL(file, src), 'utf8')))).toEqual([])
  })
})

describe('entry points', () => {
  const names = Object.keys(packageJson.exports).filter(name => name !== './package.json')

  it('are those that this test lists', () => {
    expect(names).toEqual(Object.keys(entryPoints))
  })

  it.concurrent.each(names)(
    '%s loads no module of another entry point, and no module before it is needed',
    async name => {
      const loaded = await loadedBy(new URL(name === '.' ? 'index.ts' : `${name}.ts`, src).href)
      expect(loaded).not.toEqual([])
      for (const { url, parent } of loaded) {
        expect(url).not.toMatch(/\/node_modules\/(@opentelemetry|winston|undici)\//)
        if (parent === undefined || !parent.startsWith(src.href)) continue
        const { parts = [], packages = [] } = entryPoints[name] ?? {}
        if (url.startsWith(src.href)) expect(parts).toContain(partOf(withoutExtension(url.slice(src.href.length))))
        else if (!url.startsWith('node:')) expect(packages).toContain(packageOf(url))
      }
    },
  )
})

/** Timers and clocks that an application's tests fake, and modules that have them. */
const fakeable = {
  timers: /(?<![.\w])(?:(?:set|clear)(?:Timeout|Interval|Immediate)|queueMicrotask)\b/g,
  others:
    /\bDate\.now\b|\bnew Date\(\)|\bperformance\b|\bhrtime\b|\bnextTick\b|\bAbortSignal\.timeout\b|node:(?:timers|perf_hooks)/g,
}

/**
 * The module with the timers and clocks; the clock of events, which follows the application's; the worker's, which no
 * test fakes; and an observer of garbage collections, which asks for no time.
 */
const withClocks = ['time.ts', 'record/clock.ts', 'http/request-worker.ts', 'cli/young-generation.ts']

describe('timers and clocks', () => {
  it('are used only through time.ts, which the tests of an application do not fake', () => {
    const wrong = files
      .filter(file => !withClocks.includes(file))
      .flatMap(file => {
        const source = withoutComments(readFileSync(new URL(file, src), 'utf8'))
        const [imported = ''] = /import \{[^}]*\} from '[./]*time\.ts'/.exec(source) ?? []
        const timers = (source.match(fakeable.timers) ?? []).filter(name => !imported.includes(name))
        return [...timers, ...(source.match(fakeable.others) ?? [])].map(name => `src/${file}: ${name}`)
      })
    expect(wrong).toEqual([])
  })
})

describe('drops', () => {
  it('are counted and reported in one place', () => {
    const places = files.filter(file => {
      return /\bledger\.drop\(|\bemit\(\s*'dropped'/.test(readFileSync(new URL(file, src), 'utf8'))
    })
    expect(places).toEqual(['accounting/drops.ts'])
  })
})

function withoutComments(source: string): string {
  return source.replace(/\/\*.*?\*\/|(?<!:)\/\/.*?$/gms, '')
}

interface Import {
  /** Path in `src` without its extension: `delivery/send`. */
  file: string
  /** Such a path, or the name of a package. */
  target: string
  isPackage: boolean
}

function importsOf(path: string): Import[] {
  const [found] = parse(stripTypeScriptTypes(readFileSync(new URL(path, src), 'utf8')))
  const file = withoutExtension(path)
  return found
    .filter(({ n, d }) => d !== -2 && !n?.startsWith('node:')) // -2 is import.meta
    .map(({ n = '' }) => {
      if (!n.startsWith('.')) return { file, target: n, isPackage: n !== '' }
      return { file, target: withoutExtension(posix.join(posix.dirname(path), n)), isPackage: false }
    })
}

/** Returns the modules of `src` that a file names, for values or for types. */
function namedBy(path: string): Import[] {
  const source = withoutComments(readFileSync(new URL(path, src), 'utf8'))
  return [...source.matchAll(/\b(?:from |import\()'(\.[^']+)'/g)].map(([, name = '']) => {
    const target = withoutExtension(posix.join(posix.dirname(path), name))
    return { file: withoutExtension(path), target, isPackage: false }
  })
}

/** The part a file belongs to: the outermost folder it is in, or the file itself if it is in none. */
function partOf(file: string): string {
  return file.slice(0, file.indexOf('/') + 1) || file
}

function isCovered(target: string, allowed: readonly string[] = []): boolean {
  return allowed.includes(target) || allowed.includes(partOf(target))
}

function withoutExtension(path: string): string {
  return path.replace(/\.ts$/, '')
}

function packageOf(url: string): string | undefined {
  return /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1]
}

function shown(imports: readonly Import[]): string[] {
  return imports.map(({ file, target, isPackage }) => `src/${file}.ts → ${isPackage ? target : `src/${target}.ts`}`)
}

async function loadedBy(specifier: string): Promise<{ url: string; parent?: string }[]> {
  const script = fileURLToPath(new URL('package/loaded-modules.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [script, specifier])
  return JSON.parse(stdout)
}
