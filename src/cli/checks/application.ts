import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { withoutByteOrderMark } from '../../text/without-byte-order-mark.ts'

/** The fields of a `package.json` that the checks read. Anything may be in the file. */
export interface PackageFile {
  readonly version: string | undefined
  readonly dependencies: ReadonlySet<string>
}

/** Reads the `package.json` of an application; `undefined` if there is none that can be read. */
export function applicationIn(directory: string): Promise<PackageFile | undefined> {
  return read(directory, ['dependencies', 'devDependencies', 'optionalDependencies'])
}

/**
 * Reads the `package.json` of a package as the application in a directory loads it. The `exports` of the package may hide
 * the file, so it is looked for in the folders in which Node looks.
 */
export async function installedPackage(name: string, directory: string): Promise<PackageFile | undefined> {
  const folders = createRequire(join(directory, 'package.json')).resolve.paths(name) ?? []
  for (const folder of folders) {
    const found = await read(join(folder, name), ['dependencies', 'peerDependencies'])
    if (found !== undefined) return found
  }
  return undefined
}

async function read(directory: string, lists: readonly string[]): Promise<PackageFile | undefined> {
  try {
    const text = await readFile(join(directory, 'package.json'), 'utf8')
    const fields = JSON.parse(withoutByteOrderMark(text)) as Record<string, unknown>
    const { version } = fields
    const dependencies = lists.map(list => fields[list]).flatMap(list => Object.keys(isObject(list) ? list : {}))
    return { version: typeof version === 'string' ? version : undefined, dependencies: new Set(dependencies) }
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
