/**
 * The code blocks of the documentation, as readers copy them: compiled with the types of the package, and run against the
 * emulator. The comment above a block says what it needs and what it causes; `blocks.ts` describes it.
 */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { root } from '../../docs/pages.ts'
import { startEmulator } from '../../src/emulator.ts'
import { canRun } from '../support/run-sync.ts'
import { surroundings } from '../support/surroundings.ts'
import { allBlocks, type Block, blockOf, placeOf, runnable, shown } from './blocks.ts'
import { startElsewhere } from './elsewhere.ts'
import { folders, linkPackages } from './folders.ts'
import { checkedPages, fencesOf } from './markdown.ts'
import { startRedis } from './redis.ts'
import { type EndedBlock, runInProcess, runInShell, runInThread, type Surroundings } from './run-block.ts'
import { compilerProjects, type WrittenBlock, writeBlocks } from './written-blocks.ts'

/** The blocks that do not run: by page, the reason that the comment gives. */
const notRun: Readonly<Record<string, string>> = {
  'README.md': 'installs packages',
  'benchmarks/README.md': 'measures for minutes',
  'docs/comparison.md': 'measures for minutes',
  'docs/dev.md': 'needs a dev service on its usual port',
  'docs/examples.md': 'installs packages',
  'docs/production.md': 'needs a proxy',
  'docs/quick-start.md': 'installs packages',
}

const hasBenchmarks = existsSync(`${root}benchmarks/node_modules/@axiomhq/winston`)
const hasRedis = canRun('redis-server')
if (!hasBenchmarks)
  console.warn('skipped: blocks with libraries of the benchmarks; `npm ci` in benchmarks/ installs them')
if (!hasRedis) console.warn('skipped: blocks with Redis; `apt-get install -y redis-server` installs it')

const folder = mkdtempSync(join(tmpdir(), 'logferry-docs-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const blocks = allBlocks()
const run = blocks.filter(({ notRun }) => notRun === undefined)
const written = writeBlocks(
  run.filter(({ language, needsBenchmarks }) => language !== 'sh' && (hasBenchmarks || !needsBenchmarks)),
  folderOf,
)
const programs = written.filter(({ file, needsRedis }) => file === undefined && (hasRedis || !needsRedis))
const scripts = run.filter(({ language }) => language === 'sh')

describe('code blocks', () => {
  it('are in languages that run, or that show configuration or output', () => {
    const others = checkedPages()
      .flatMap(page => fencesOf(page))
      .filter(({ language }) => ![...runnable, ...shown].includes(language))
    expect(others.map(fence => `${placeOf(fence)}: ${fence.language}`)).toEqual([])
  })

  it('all run, but for a few that say why they cannot', () => {
    for (const block of blocks.filter(({ notRun }) => notRun !== undefined)) {
      expect(`${placeOf(block)}: ${block.notRun}`).toBe(`${placeOf(block)}: ${notRun[block.page]}`)
    }
    expect(run.length).toBeGreaterThan(40)
  })

  it('of JSON hold JSON, one value after the other', () => {
    const texts = checkedPages()
      .flatMap(page => fencesOf(page))
      .filter(({ language }) => language === 'json')
    const values = texts.flatMap(({ source }) => source.split(/\n(?=\{)/))
    expect(values.length).toBeGreaterThan(2)
    for (const value of values) expect(() => JSON.parse(value), value).not.toThrow()
  })

  it('name scripts of npm that exist', () => {
    const names = blocks.flatMap(({ source }) => [...source.matchAll(/\bnpm run ([\w:-]+)/g)].map(([, name]) => name))
    const packages = ['package.json', 'examples/apps/package.json'].map(file => readFileSync(root + file, 'utf8'))
    const scripts = Object.assign({}, ...packages.map(text => JSON.parse(text).scripts))
    expect(names.filter(name => !Object.hasOwn(scripts, name as string))).toEqual([])
  })

  it('are not run with a comment that means nothing', () => {
    const fence = { page: 'a.md', line: 1, language: 'ts', source: '' }
    expect(blockOf({ ...fence, comment: 'block: with shipper; 2 to 3 events' })).toMatchObject({
      preludes: ['shipper'],
      events: [2, 3],
    })
    expect(() => blockOf({ ...fence, comment: 'block: 1 evnt' })).toThrow("a.md:1: the comment says '1 evnt'")
  })

  it('compile with the types of the package', { timeout: 60_000 }, async () => {
    const tsc = `${root}node_modules/typescript/bin/tsc`
    for (const project of compilerProjects(written)) {
      const { stdout, code } = await promisify(execFile)(process.execPath, [tsc, '-p', project]).then(
        printed => ({ ...printed, code: 0 }),
        error => error as { stdout: string; code: number },
      )
      expect({ stdout, code }).toEqual({ stdout: '', code: 0 })
    }
  })
})

describe.concurrent('code blocks cause what their comments say', () => {
  it.each([...programs, ...scripts].map(block => [placeOf(block), block] as const))('%s', async (_, block) => {
    await using emulator = await startEmulator({ org: { id: 'my-org' } })
    await using elsewhere = await startElsewhere()
    await using redis = block.needsRedis ? await startRedis() : undefined
    const ownFolder = folderOf(block)
    await writeFiles(block, ownFolder)
    if (block.folder !== undefined) await preparationOf(block.folder)(ownFolder, emulator)
    const environment = {
      ...surroundings(),
      ...elsewhere.environment,
      ...redis?.environment,
      LOGFERRY_URL: emulator.url,
      LOGFERRY_TOKEN: emulator.token,
      LOGFERRY_DATASET: 'checkout',
      ACCESS_TOKEN: emulator.accessToken,
      LOG_HASH_KEY: 'a key of 16 bytes or more',
    }
    const whenDone = block.requestsElsewhere > 0 ? elsewhere.whenRequested(block.requestsElsewhere) : undefined
    const { exitCode, stdout, stderr } = await runBlock(block, { folder: ownFolder, environment, whenDone })
    await whenDone
    const said = `${stderr}\n${placeOf(block)}`
    expect({ exitCode, said }).toEqual({ exitCode: block.exitCode, said })
    const warned = [...stderr.matchAll(/\[(LOGFERRY_\w+)\] LogferryWarning/g)].map(([, code = '']) => code)
    const warnings = warned.filter(code => !block.possibleWarnings.includes(code))
    expect({ warnings, said }).toEqual({ warnings: block.warnings, said })
    if (block.language !== 'sh' && warned.length === 0 && !block.printsErrors) expect(stderr).toBe('')
    if (block.prints !== undefined) expect(stdout + stderr).toMatch(block.prints)
    const [min, max] = block.events
    const arrived = emulator.stats().stored
    expect(arrived >= min && arrived <= max, `${arrived} events arrived, not ${min} to ${max}. ${said}`).toBe(true)
  })
})

/** Writes the files of the page of a block, with everything that they can import beside them. */
async function writeFiles({ page }: Block, folder: string): Promise<void> {
  const files = run.filter(({ page: own, file }) => own === page && file !== undefined)
  if (files.length === 0) return
  await linkPackages(folder)
  writeFileSync(`${folder}/package.json`, JSON.stringify({ type: 'commonjs' })) // as `npm init` makes it
  for (const { file, source } of files) writeFileSync(`${folder}/${file}`, source)
}

/** A folder of its own for each block. */
function folderOf(block: Block): string {
  const path = join(folder, placeOf(block).replace(/[/.:]/g, '-'))
  rmSync(path, { recursive: true, force: true }) // from the first try of the test
  mkdirSync(path, { recursive: true, mode: 0o700 })
  return path
}

function preparationOf(name: string): NonNullable<(typeof folders)[string]> {
  const prepare = folders[name]
  if (prepare === undefined) throw new Error(`folders.ts has no '${name}'`)
  return prepare
}

function runBlock(block: Block | WrittenBlock, surroundings: Surroundings): Promise<EndedBlock> {
  if (!('path' in block)) return runInShell(block, surroundings)
  return block.isProcess ? runInProcess(block.path, surroundings) : runInThread(block.path, surroundings)
}
