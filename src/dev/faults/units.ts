const millisecondsPer: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['', 1000],
])

const bytesPer: ReadonlyMap<string, number> = new Map([
  ['', 1],
  ['b', 1],
  ['kb', 1000],
  ['mb', 1e6],
  ['gb', 1e9],
  ['kib', 1024],
  ['mib', 1_048_576],
  ['gib', 1_073_741_824],
])

/** Returns the milliseconds of a time such as `500ms`, `30s` or `2m`; a number alone is seconds. `NaN` if it is none. */
export function millisecondsOf(text: string): number {
  return product(text, millisecondsPer)
}

/** Returns the bytes of a size such as `1MB`, `64KiB` or `500`. `NaN` if it is none. */
export function bytesOf(text: string): number {
  return product(text, bytesPer)
}

export function textOfMilliseconds(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`
}

export function textOfBytes(bytes: number): string {
  if (bytes >= 1e6 && bytes % 1e6 === 0) return `${bytes / 1e6}MB`
  return bytes >= 1000 && bytes % 1000 === 0 ? `${bytes / 1000}kB` : String(bytes)
}

function product(text: string, units: ReadonlyMap<string, number>): number {
  const [, digits, unit = ''] = /^(\d+(?:\.\d+)?) ?([a-z]*)$/i.exec(text.trim()) ?? []
  return digits === undefined ? Number.NaN : Number(digits) * (units.get(unit.toLowerCase()) ?? Number.NaN)
}
