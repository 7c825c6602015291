import type * as z from 'zod'
import { type DevClient, ServiceTrouble } from '../events/dev-client.ts'

/**
 * Reads the part of an answer that a schema names.
 *
 * @throws ServiceTrouble if the service gives no such answer
 */
export async function readAnswer<Schema extends z.ZodType>(
  client: DevClient,
  path: string,
  parameters: Readonly<Record<string, string | number | undefined>>,
  schema: Schema,
  signal: AbortSignal,
): Promise<z.infer<Schema>> {
  const result = schema.safeParse(await client.get(path, parameters, signal))
  if (result.success) return result.data
  throw new ServiceTrouble('the service gives an answer that this version of logferry cannot read. Restart it.', false)
}
