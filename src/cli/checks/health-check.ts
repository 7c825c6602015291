import type { Session } from './session.ts'

/** The result of one check. Texts may contain texts from outside: the report makes them harmless. */
export type Finding =
  | { readonly status: 'ok' | 'skipped'; readonly detail: string; readonly values?: Values }
  /** `warn`: an application works, but not as it should. `fail`: it does not deliver its events. */
  | { readonly status: 'warn' | 'fail'; readonly detail: string; readonly remedy: string; readonly values?: Values }

/** What a program may want to know of a result, for `--json`. */
export type Values = Readonly<Record<string, string | number | boolean | readonly string[]>>

/** One check of `logferry check`, in the file of the same name. */
export interface HealthCheck {
  readonly name: string
  /** Names of checks that this one builds on. If one of them fails or is skipped, this check is skipped. */
  readonly after: readonly string[]
  run(session: Session): Promise<Finding>
}

export function ok(detail: string, values?: Values): Finding {
  return { status: 'ok', detail, ...(values && { values }) }
}

export function skipped(detail: string): Finding {
  return { status: 'skipped', detail }
}

export function warn(detail: string, remedy: string, values?: Values): Finding {
  return { status: 'warn', detail, remedy, ...(values && { values }) }
}

export function fail(detail: string, remedy: string, values?: Values): Finding {
  return { status: 'fail', detail, remedy, ...(values && { values }) }
}
