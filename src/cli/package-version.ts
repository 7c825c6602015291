import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Returns the version of this package. Its description is two folders up, from the source and from what is built. */
export function packageVersion(): string {
  const packageJson = join(import.meta.dirname, '../../package.json')
  return (JSON.parse(readFileSync(packageJson, 'utf8')) as { version: string }).version
}
