/**
 * Invokes the handler with each line of standard input as the body of a request, and prints the answer.
 *
 *     echo '{ "id": 42 }' | npx logferry dev -- npm run lambda
 */
import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import type { APIGatewayProxyEventV2, Context } from 'aws-lambda'
import { handler } from './handler.ts'

const timeoutMs = 3000

for await (const body of createInterface({ input: process.stdin })) {
  const deadlineMs = performance.now() + timeoutMs
  const event = { rawPath: '/orders', requestContext: { http: { method: 'POST' } }, body }
  const context = { awsRequestId: randomUUID(), getRemainingTimeInMillis: () => deadlineMs - performance.now() }
  console.log(JSON.stringify(await handler(event as unknown as APIGatewayProxyEventV2, context as unknown as Context)))
}
