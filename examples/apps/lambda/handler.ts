/**
 * A function for AWS Lambda behind an HTTP API. The platform may freeze the process as soon as the handler has answered,
 * so the handler delivers its events before. Each event carries the id of its invocation.
 *
 * `npm run lambda` runs the handler on this machine, see `local.ts`.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2, Context } from 'aws-lambda'
import { createShipper } from 'logferry'
import { LogferryTransport } from 'logferry/winston'
import winston from 'winston'

const invocations = new AsyncLocalStorage<{ trace_id: string }>()

// Outside of the handler: the next invocation finds the shipper as it is, with its connections open.
const shipper = createShipper({
  dataset: 'lambda',
  context: () => invocations.getStore(),
  // After an outage, an invocation does not wait longer than this for the next attempt.
  maxRetryDelayMs: 1000,
})
const logger = winston.createLogger({ transports: [new LogferryTransport({ shipper })] })

let isColdStart = true

export function handler(event: APIGatewayProxyEventV2, context: Context): Promise<APIGatewayProxyStructuredResultV2> {
  return invocations.run({ trace_id: context.awsRequestId }, () => respond(event, context))
}

async function respond(event: APIGatewayProxyEventV2, context: Context): Promise<APIGatewayProxyStructuredResultV2> {
  logger.info(`${event.requestContext.http.method} ${event.rawPath}`, { cold_start: isColdStart })
  isColdStart = false
  try {
    return { statusCode: 200, body: JSON.stringify(placeOrder(event.body ?? '')) }
  } catch (error) {
    logger.error('handler failed', { error })
    return { statusCode: 500, body: '{"error":"internal error"}' }
  } finally {
    // An outage of the service must not cost the invocation more than a second, nor its answer. Events that are not
    // delivered by then go with the next invocation.
    const timeoutMs = Math.min(Math.max(context.getRemainingTimeInMillis() - 500, 0), 1000)
    await shipper.flush({ timeoutMs })
  }
}

function placeOrder(body: string): { id: number } {
  const { id } = JSON.parse(body) as { id: number }
  if (id === 13) throw new Error('out of stock')
  logger.info('order placed', { order: { id } })
  return { id }
}
