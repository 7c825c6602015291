/** The blocks as files that can be compiled and run: under `build/docs`, where the package is found by its name. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { root } from '../../docs/pages.ts'
import { type Block, placeOf } from './blocks.ts'

const here = new URL('.', import.meta.url)

/** Where blocks are written that use libraries of the benchmarks. */
const benchmarksFolder = `${root}benchmarks/build/docs/`
const blocksFolder = `${root}build/docs/`

/** Settings of the compiler for what users write: as strict as ours, without what only a module of a program needs. */
const compilerOptions = {
  target: 'es2024',
  lib: ['es2024'],
  module: 'nodenext',
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  erasableSyntaxOnly: true,
  skipLibCheck: true,
  allowJs: true,
  checkJs: true,
  noImplicitAny: true,
  noEmit: true,
}

/** A block, and the file that runs it. Node would load its compiler in each thread to strip the types itself. */
export interface WrittenBlock extends Block {
  readonly path: string
}

/**
 * Writes the blocks in TypeScript and JavaScript, and a configuration of the compiler beside them. Returns the blocks with
 * their files.
 *
 * @param folderOf folder that a block may write to
 */
export function writeBlocks(blocks: readonly Block[], folderOf: (block: Block) => string): WrittenBlock[] {
  for (const folder of [blocksFolder, benchmarksFolder]) rmSync(folder, { recursive: true, force: true })
  const written = blocks.map(block => {
    const folder = block.needsBenchmarks ? benchmarksFolder : blocksFolder
    mkdirSync(folder, { recursive: true })
    const written = `${folder}${fileNameOf(block)}`
    const source = programOf(block, folderOf(block))
    writeFileSync(written, source)
    if (block.language !== 'ts') return { ...block, path: written }
    const path = `${written}.mjs`
    writeFileSync(path, stripTypeScriptTypes(source))
    return { ...block, path }
  })
  for (const folder of new Set(written.map(({ path }) => path.slice(0, path.lastIndexOf('/') + 1)))) {
    writeFileSync(
      `${folder}tsconfig.json`,
      JSON.stringify({ compilerOptions, include: ['*.mts', '*.cjs', '*.mjs'], exclude: ['*.mts.mjs'] }),
    )
  }
  return written
}

/** The configurations of the compiler for the blocks that were written. */
export function compilerProjects(blocks: readonly WrittenBlock[]): string[] {
  return [...new Set(blocks.map(({ path }) => `${path.slice(0, path.lastIndexOf('/'))}/tsconfig.json`))]
}

function fileNameOf(block: Block): string {
  const extension = block.language === 'ts' ? 'mts' : block.source.includes('require(') ? 'cjs' : 'mjs'
  return `${placeOf(block).replace(/[/.:]/g, '-')}.${extension}`
}

/** A statement with its value behind it: `emulator.eventCount('checkout') // 2`. */
const shownValue = /^((?!const |let |console\.|import )\S.*[)\w]) \/\/ (\{[^…]*\}|'[^']*'|\d+|true|false)$/gm

/** Checks each value that a block shows in a comment behind a statement. */
function withChecks(source: string): string {
  if (source.search(shownValue) === -1) return source
  return `import { deepEqual as checkShown } from 'node:assert/strict'\n${source.replace(shownValue, 'checkShown($1, $2)')}`
}

function programOf(block: Block, folder: string): string {
  const preludes = block.preludes.map(name => readFileSync(new URL(`preludes/${name}.ts`, here), 'utf8'))
  const source = withChecks(block.source)
    .replaceAll("'https://…'", 'process.env.LOGFERRY_URL')
    .replaceAll('/var/spool/', `${folder}/spool/`)
  return [...preludes, source, block.language === 'ts' ? 'export {}\n' : ''].join('\n')
}
