/** Installs the packages of the apps, with logferry as it stands in `dist`, once for all checks. */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { folder } from './app.ts'

export default function install(): void {
  // Otherwise npm would keep the logferry of the last installation.
  rmSync(join(folder, 'node_modules/logferry'), { recursive: true, force: true })
  // Not `npm ci`: it requires a lock with the packages for all platforms, and not every registry has these. Without
  // scripts, because logferry's own would build it again, and the apps need no other.
  const options = ['--no-save', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', ['install', ...options], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
}
