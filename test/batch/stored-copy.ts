import type { StoredBatch } from '../../src/batch/batch-store.ts'

/** Returns a stored batch with these lines. `other` replaces members. */
export function storedCopy(lines: Buffer, severities: Uint8Array, other: Partial<StoredBatch> = {}): StoredBatch {
  return {
    order: '1',
    isComplete: true,
    exists: true,
    isOpen: false,
    hasVanished: false,
    isUnreadable: false,
    count: severities.length,
    append: () => {},
    extend: () => false,
    seal: () => {},
    read: async () => ({ lines, severities }),
    readNow: () => ({ lines, severities }),
    handOff: () => {},
    remove: () => {},
    ...other,
  }
}
