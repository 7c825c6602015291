import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Answer, refusal } from '../../emulator/answer.ts'
import { type Screen, screens } from '../protocol.ts'

/** Where the page is: beside the chunk of the built command, and below `dist` for the sources. */
const places = [join(import.meta.dirname, '../dev'), join(import.meta.dirname, '../../../dist/dev')]

/** SHA-256 of the scripts and styles in the page, as a content security policy names them. */
interface Hashes {
  readonly script: readonly string[]
  readonly style: readonly string[]
}

/** True for a path of the page. The page reads its state from the address. */
export function isPagePath(path: string): boolean {
  const [, screen = '', id] = /^\/dev\/([a-z]+)(?:\/([^/]+))?$/.exec(path) ?? []
  if (!Object.hasOwn(screens, screen)) return false
  return screens[screen as Screen] !== (id === undefined ? 'with id' : 'without id')
}

/** Returns the page with a policy that lets nothing run but its own script. */
export function pageAnswer(): Answer {
  for (const place of places) {
    const page = readIfThere(join(place, 'page.html'))
    const hashes = readIfThere(join(place, 'page.json'))
    if (page === undefined || hashes === undefined) continue
    const headers = {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policyOf(JSON.parse(hashes) as Hashes),
    }
    return { kind: 'answer', status: 200, headers, body: page }
  }
  return refusal(503, 'no-page', 'the page is not built: run `npm run build`')
}

function policyOf({ script, style }: Hashes): string {
  const listed = (hashes: readonly string[]): string => hashes.map(hash => `'${hash}'`).join(' ') || "'none'"
  return [
    "default-src 'none'",
    `script-src ${listed(script)}`,
    `style-src ${listed(style)}`,
    'img-src data:', // its icon
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
