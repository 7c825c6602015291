import { type Emulator, type EmulatorOptions, startEmulator } from '../../src/emulator.ts'
import type { ShipperOptions } from '../../src/index.ts'
import { type Watched, watched } from './laws.ts'

/** An emulator, and a shipper to its dataset `d` that is checked against the laws. `await using` ends both. */
export interface Emulated extends AsyncDisposable {
  readonly emulator: Emulator
  readonly logs: Watched
  /** Numbers (`n`) of the events that have arrived. */
  numbers(): number[]
}

export async function emulated(options: ShipperOptions = {}, emulatorOptions: EmulatorOptions = {}): Promise<Emulated> {
  const emulator = await startEmulator(emulatorOptions)
  const logs = watched({ baseUrl: emulator.url, token: emulator.token, ...options })
  return {
    emulator,
    logs,
    numbers: () => numbersIn(emulator),
    async [Symbol.asyncDispose]() {
      await logs[Symbol.asyncDispose]()
      await emulator.close()
    },
  }
}

export function numbersIn(emulator: Emulator): number[] {
  return emulator.events('d').map(({ n }) => n as number)
}
