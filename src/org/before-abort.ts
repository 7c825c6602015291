/** Settles as `promise` does, or rejects with the result of `reason` once `signal` is aborted. */
export async function beforeAbort<T>(promise: Promise<T>, signal: AbortSignal, reason: () => Error): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(reason())
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
