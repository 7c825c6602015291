import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

/** Returns the directory for what `logferry` remembers between runs, as each system expects it. */
export function stateDirectory(env: NodeJS.ProcessEnv = process.env, platform: string = process.platform): string {
  if (platform === 'win32') return join(env.LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local'), 'logferry')
  if (platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'logferry')
  const base = env.XDG_STATE_HOME
  return join(base !== undefined && isAbsolute(base) ? base : join(homedir(), '.local', 'state'), 'logferry')
}
