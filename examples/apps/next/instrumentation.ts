/**
 * A Next.js app: route handlers and pages log through Winston, and Next reports each error of a page here.
 *
 *     npx logferry dev -- npm run next
 *     curl http://127.0.0.1:3000/orders/42    # a route handler, ships one event
 *     curl http://127.0.0.1:3000/orders/13    # fails, and ships its debug event as well
 *     curl http://127.0.0.1:3000/             # a page that logs
 *     curl http://127.0.0.1:3000/broken       # a page that fails
 */
import type { Instrumentation } from 'next'

export async function register(): Promise<void> {
  // Next also compiles this file for the edge runtime, which has no Node modules.
  if (process.env.NEXT_RUNTIME !== 'nodejs') return
  const { logger } = await import('./lib/logging.ts')
  logger.info('server started')
}

export const onRequestError: Instrumentation.onRequestError = async (error, request, context) => {
  if (process.env.NEXT_RUNTIME !== 'nodejs') return
  const { logger } = await import('./lib/logging.ts')
  const { path, method } = request
  logger.error('page failed', { error, http: { method, path, route: context.routePath }, kind: context.routeType })
}
