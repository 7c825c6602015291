import { headers } from 'next/headers'
import { logger } from '../lib/logging.ts'

export default async function Page() {
  const userAgent = (await headers()).get('user-agent')
  logger.info('page rendered', { page: '/', user_agent: userAgent })
  return <h1>Orders</h1>
}
