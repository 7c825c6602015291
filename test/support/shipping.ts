import { type Emulator, type EmulatorOptions, startEmulator } from '../../src/emulator.ts'
import { createShipper, type Shipper, type ShipperOptions, type Warning } from '../../src/index.ts'

/** An emulator, and shippers to its dataset `d`. `await using` ends both. */
export interface Shipping extends AsyncDisposable {
  readonly emulator: Emulator
  readonly warnings: Warning[]
  ship(options?: ShipperOptions): Shipper
}

export async function startShipping(emulatorOptions: EmulatorOptions = {}): Promise<Shipping> {
  const emulator = await startEmulator(emulatorOptions)
  const shippers: Shipper[] = []
  const warnings: Warning[] = []
  return {
    emulator,
    warnings,
    ship(options) {
      const token = options?.personalAccessToken === undefined ? emulator.token : undefined
      const shipper = createShipper({ baseUrl: emulator.url, dataset: 'd', token, ...options })
      shipper.on('warning', warning => warnings.push(warning))
      shippers.push(shipper)
      return shipper
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(shippers.map(shipper => shipper.close({ timeoutMs: 0 })))
      await emulator.close()
    },
  }
}
