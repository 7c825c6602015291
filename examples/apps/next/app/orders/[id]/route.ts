import { setTimeout as sleep } from 'node:timers/promises'
import { logged, logger } from '../../../lib/logging.ts'

export const GET = logged<{ params: Promise<{ id: string }> }>(async (_request, { params }) => {
  const { id } = await params
  logger.debug('order is not in the cache', { order: { id } })
  await sleep(100)
  if (id === '13') throw new Error('the database is away')
  return Response.json({ id, total: 99.5 })
})
