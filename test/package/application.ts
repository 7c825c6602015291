import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { inject } from 'vitest'

const consumers = join(import.meta.dirname, 'consumers')
const tsc = join(import.meta.dirname, '../../node_modules/typescript/bin/tsc')

/** The way in which a consumer's compiler finds modules: as Node does, or as a bundler does. */
const moduleOptions = {
  nodenext: ['--module', 'nodenext'],
  bundler: ['--module', 'preserve', '--moduleResolution', 'bundler'],
}

/** A consumer of the tarball, in a separate folder outside the repository. */
export class Application {
  readonly folder: string

  private constructor(folder: string) {
    this.folder = folder
  }

  /** Copies the sources of `consumers/<name>`, and installs the tarball together with `dependencies`. */
  static async install(
    name: string,
    dependencies: readonly string[],
    type: 'module' | 'commonjs' = 'module',
  ): Promise<Application> {
    const application = new Application(await mkdtemp(join(tmpdir(), `logferry-${name}-`)))
    await cp(join(consumers, name), application.folder, { recursive: true })
    await writeFile(join(application.folder, 'package.json'), JSON.stringify({ private: true, type }))
    const options = ['--strict-peer-deps', '--prefer-offline', '--no-audit', '--no-fund']
    await application.run('npm', 'install', ...options, inject('tarball'), ...dependencies)
    return application
  }

  /** Runs a command in the folder, and returns its output. A command that fails throws all its output. */
  async run(command: string, ...args: string[]): Promise<string> {
    try {
      const { stdout } = await promisify(execFile)(command, args, { cwd: this.folder, timeout: 240_000 })
      return stdout
    } catch (error) {
      const { stdout, stderr } = error as { stdout: string; stderr: string }
      throw new Error(`${command} ${args.join(' ')}\n${stdout}${stderr}`) // no cause, which would print all of it again
    }
  }

  node(...args: string[]): Promise<string> {
    return this.run(process.execPath, ...args)
  }

  /** Checks files as a strict consumer does, including the declarations of every package. */
  async typeCheck(moduleResolution: keyof typeof moduleOptions, ...filesAndOptions: string[]): Promise<void> {
    const strict = ['--ignoreConfig', '--noEmit', '--strict', '--skipLibCheck', 'false']
    const platform = ['--target', 'es2022', '--types', 'node', ...moduleOptions[moduleResolution]]
    await this.node(tsc, ...strict, ...platform, ...filesAndOptions)
  }

  remove(): Promise<void> {
    return rm(this.folder, { recursive: true })
  }
}
