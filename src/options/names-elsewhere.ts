/** Options of other transports, exporters and agents, by the option that does the same here. */
const namesElsewhere: Readonly<Record<string, readonly string[]>> = {
  baseUrl: ['endpoint', 'host', 'hostname'],
  token: ['apiKey', 'apiToken', 'accessToken', 'authToken', 'basicAuth'],
  minSeverity: ['level', 'minLevel', 'logLevel'],
  maxBatchAgeMs: ['interval', 'batchInterval', 'flushInterval', 'flushIntervalMs', 'scheduledDelayMillis'],
  maxBatchEvents: ['batchSize', 'batchCount', 'maxBatchSize', 'maxExportBatchSize'],
  maxBufferedBytes: ['bufferSize', 'maxBufferSize', 'maxQueueSize', 'queueSize', 'highWaterMark'],
  requestTimeoutMs: ['timeout', 'timeoutMs', 'timeoutMillis', 'exportTimeoutMillis'],
  maxRetryDelayMs: ['retryDelay', 'maxRetryDelay', 'maxBackoff'],
  maxConcurrentRequests: ['concurrency', 'concurrencyLimit', 'maxSockets'],
  compression: ['gzip', 'zip', 'compress'],
  dispatcher: ['agent', 'httpAgent', 'httpsAgent', 'headers'],
  tls: ['ca', 'cert', 'key', 'ssl'],
}

/** Returns the known option with the meaning that this name has in other packages. */
export function optionForNameElsewhere(name: string, known: readonly string[]): string | undefined {
  return known.find(option => Object.hasOwn(namesElsewhere, option) && namesElsewhere[option]?.includes(name))
}
