import type { ParseArgsOptionsConfig } from 'node:util'

/** The value of each option that was given. */
export type Given = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>

/** A command of `logferry`, in a file of that name. */
export interface Command {
  /** What `logferry <command> --help` prints. */
  readonly help: string
  readonly options: ParseArgsOptionsConfig
  /** The option that may also be given without its name, where there is one. */
  readonly argument?: string
  /** Does it, and gives the exit code. A `Misuse` is answered with its message and the exit code 2. */
  run(given: Given): Promise<number>
}

/** The command line makes no sense. */
export class Misuse extends Error {}
