/** Fields that are known of each event without being in it. */
export const virtualFields = ['level', 'dataset', 'source', 'is', 'request', '_time'] as const
export type VirtualField = (typeof virtualFields)[number]

/** Words after `is:`. */
export const badgeWords = ['late', 'new', 'cut', 'duplicate', 'clock', 'no-time'] as const

export function isVirtualField(name: string): name is VirtualField {
  return (virtualFields as readonly string[]).includes(name)
}
