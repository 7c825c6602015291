import { type Answer, refusal } from './answer.ts'

/** The operation that a request asks for, with the names from its path. */
export type Route =
  | { kind: 'ingest'; dataset: string }
  | { kind: 'read-organization' | 'update-organization'; orgId: string }
  | { kind: 'page' }

const patterns: { path: RegExp; methods: Record<string, (name: string) => Route> }[] = [
  { path: /^\/?$/, methods: { GET: () => ({ kind: 'page' }) } },
  { path: /^\/v1\/datasets\/([^/]+)\/ingest$/, methods: { POST: dataset => ({ kind: 'ingest', dataset }) } },
  {
    path: /^\/v2\/orgs\/([^/]+)$/,
    methods: {
      GET: orgId => ({ kind: 'read-organization', orgId }),
      PUT: orgId => ({ kind: 'update-organization', orgId }),
    },
  },
]

/**
 * Finds the operation of a request. The path is matched as received, and a name is decoded once. So `a%2Fb` is one
 * name, and neither `..` nor `%2e%2e` leads to another path.
 */
export function routeOf(method: string, url: string, basePath: string): Route | Answer {
  const [path = ''] = targetOf(url).split('?')
  if (decoded(path) === undefined) return refusal(400, 'malformed-path', 'the path holds a malformed percent-encoding')
  const ownPath = path.startsWith(`${basePath}/`) || path === basePath ? path.slice(basePath.length) : undefined
  for (const pattern of ownPath === undefined ? [] : patterns) {
    const match = pattern.path.exec(ownPath as string)
    if (!match) continue
    const { [method]: route } = pattern.methods
    return route ? route(decodeURIComponent(match[1] ?? '')) : wrongMethod(Object.keys(pattern.methods).join(', '))
  }
  return refusal(404, 'unknown-path', 'there is nothing at this path')
}

/** Returns path and query of a request. A request through a proxy carries the whole URL. */
export function targetOf(url: string): string {
  return url.replace(/^https?:\/\/[^/?]*/i, '')
}

function wrongMethod(allowed: string): Answer {
  return refusal(405, 'wrong-method', `this path accepts only ${allowed}`, { allow: allowed })
}

/** Returns the decoded text, not a boolean: a bundler drops a call of `decodeURIComponent` whose value is not used. */
function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}
