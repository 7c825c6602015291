/** Whether the list follows the newest events. The page always says which of these it is. */

export type ListMode =
  | { kind: 'following' }
  /** The list is the result as of one arrival. `paused` survives scrolling to the top. */
  | { kind: 'pinned'; since: number; paused: boolean }
  /** The list shows rows of a service that has ended. */
  | { kind: 'relic' }

export const following: ListMode = { kind: 'following' }

export function pinned(mode: ListMode, nowMs: number): ListMode {
  return mode.kind === 'following' ? { kind: 'pinned', since: nowMs, paused: false } : mode
}

export function paused(mode: ListMode, nowMs: number): ListMode {
  return { kind: 'pinned', since: mode.kind === 'pinned' ? mode.since : nowMs, paused: true }
}

export function isPaused(mode: ListMode): boolean {
  return mode.kind === 'pinned' && mode.paused
}
