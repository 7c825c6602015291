/**
 * The part of undici's `Dispatcher` (undici 7 or later) that this package uses. The application brings its own undici.
 */
export interface Dispatcher {
  dispatch(options: DispatchOptions, handler: DispatchHandler): boolean
}

export interface DispatchOptions {
  readonly origin: string
  readonly path: string
  readonly method: 'POST' | 'GET' | 'PUT'
  readonly headers: Record<string, string>
  readonly body?: Uint8Array
}

export interface DispatchController {
  abort(reason: Error): void
}

export interface DispatchHandler {
  onRequestStart(controller: DispatchController): void
  onResponseStart(
    controller: DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void
  onResponseData(controller: DispatchController, chunk: Buffer): void
  onResponseEnd(): void
  onResponseError(controller: DispatchController, error: Error): void
}
