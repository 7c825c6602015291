import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { Application } from './application.ts'

/**
 * The versions of TypeScript that check the declarations: the oldest, the last of each major version, and the current
 * one.
 */
const compilers = ['5.0', '5.9', '6.0', '7.0']
const typesOfNode = ['20', '22', '24']

/** The settings for finding modules, and the versions that accept them without a deprecation. */
const moduleOptions = {
  'commonjs, node10': { options: ['--module', 'commonjs', '--moduleResolution', 'node10'], until: '5.9' },
  'commonjs, bundler': { options: ['--module', 'commonjs', '--moduleResolution', 'bundler'], from: '6.0' },
  nodenext: { options: ['--module', 'nodenext'] },
  bundler: { options: ['--module', 'esnext', '--moduleResolution', 'bundler'] },
}

/** Declarations of Node for TypeScript before 5.2 end with version 22, and have errors of their own there. */
const pairs = compilers.flatMap(compiler => typesOfNode.map(types => ({ compiler, types })))
const soundPairs = pairs.filter(({ compiler, types }) => !(compiler === '5.0' && types === '24'))

const kinds = Object.entries(moduleOptions).flatMap(([modules, { options, ...range }]) => {
  const { from = compilers[0], until = compilers.at(-1) } = range as { from?: string; until?: string }
  const able = compilers.slice(compilers.indexOf(String(from)), compilers.indexOf(String(until)) + 1)
  return able.map(compiler => ({ modules, compiler, options }))
})

describe('the declarations', () => {
  let tools: Application
  const applications = new Map<string, Application>()

  beforeAll(async () => {
    const aliases = compilers.map(version => `typescript-${version}@npm:typescript@~${version}.0`)
    tools = await Application.install('typed', [...aliases, '@arethetypeswrong/cli@0.18.5'])
    for (const version of typesOfNode) {
      const application = await Application.install('typed', [`@types/node@${version}`], 'commonjs')
      applications.set(version, application)
      await copyFile(join(application.folder, 'types.ts'), join(application.folder, 'types.mts')) // the same as an ES module
    }
  })
  afterAll(() => Promise.all([tools, ...applications.values()].map(application => application?.remove())))

  it('are found in every way that attw knows', async () => {
    const report = await tools.run('node_modules/.bin/attw', inject('tarball'), '--format', 'ascii')
    expect(report).toContain('No problems found')
  })

  it.each(soundPairs)('pass TypeScript $compiler with @types/node $types', async ({ compiler, types }) => {
    expect(await faults(compiler, types, ['--module', 'node16', 'types.ts', 'types.mts'])).toEqual([])
  })

  it.each(kinds)('pass TypeScript $compiler that is told "$modules"', async ({ compiler, options }) => {
    expect(await faults(compiler, '20', [...options, 'types.ts'])).toEqual([])
  })

  it.each(['nodenext', 'bundler'])('can be named in the declarations of a library (%s)', async modules => {
    const { options } = moduleOptions[modules as 'nodenext']
    const emitted = ['--declaration', '--emitDeclarationOnly', '--noEmit', 'false', '--outDir', 'declared']
    for (const compiler of ['5.9', '7.0']) {
      expect(await faults(compiler, '24', [...options, ...emitted, 'library.ts'])).toEqual([])
    }
  })

  /** Returns the compiler's messages, except those about the declarations of Node. */
  async function faults(compiler: string, types: string, options: readonly string[]): Promise<string[]> {
    const tsc = join(tools.folder, `node_modules/typescript-${compiler}/bin/tsc`)
    const ignored = compiler < '6' ? [] : ['--ignoreConfig']
    const checked = ['--noEmit', '--strict', '--skipLibCheck', 'false', '--pretty', 'false']
    const platform = ['--target', 'es2022', '--types', 'node']
    try {
      await applications.get(types)?.node(tsc, ...ignored, ...checked, ...platform, ...options)
      return []
    } catch (error) {
      const [, ...lines] = (error as Error).message.trim().split('\n')
      return lines.filter(line => !/^(\s|node_modules\/(@types\/node|undici-types)\/)/.test(line))
    }
  }
})
