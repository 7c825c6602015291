/**
 * A client of `ioredis` or of `redis` (node-redis), for a single server or a cluster, Redis 5 or later. The application
 * connects and closes the client, and listens to its `error` events.
 */
export type RedisClient = IoredisClient | NodeRedisClient

export interface IoredisClient {
  call(...commandAndArguments: [string, ...string[]]): Promise<unknown>
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
  evalsha?(sha1: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
}

export interface NodeRedisClient {
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
  evalSha?(sha1: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
}
