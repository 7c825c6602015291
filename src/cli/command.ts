import type { ParseArgsOptionsConfig } from 'node:util'

/** The value of each option on the command line, by name. */
export type Given = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>

/** A command of `logferry`, in the file of the same name. */
export interface Command {
  /** Text that `logferry <command> --help` prints. */
  readonly help: string
  readonly options: ParseArgsOptionsConfig
  /** Name of the option that the user may also give as a positional argument. */
  readonly argument?: string
  /**
   * Runs the command, and returns its exit code.
   *
   * @throws Misuse if an option is invalid; `logferry` then prints the message and exits with 2
   */
  run(given: Given): Promise<number>
}

/** The command line is invalid. */
export class Misuse extends Error {}
