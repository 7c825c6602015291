/** The values of a command line by the names of options and arguments. */
export type Given = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>

/** An option `--name` of a command. */
export interface OptionForm {
  /** The purpose of the option, in a few words. */
  readonly description: string
  /** Name of the value in the help: `address` for `--url <address>`. An option without it is a flag. */
  readonly value?: string
  /** True if the option may be given more than once. Its value is then an array. */
  readonly isMultiple?: boolean
  readonly choices?: readonly string[]
  /** The names that a shell completes as the value. */
  readonly completes?: 'files' | 'directories'
}

/** A positional argument of a command. The user may leave it out; the command says what is missing. */
export interface ArgumentForm extends Pick<OptionForm, 'description' | 'choices' | 'completes'> {
  /** If an option has the same name, the user may give either of the two. */
  readonly name: string
  /** True if the argument takes all the words that are left. Its value is then an array. Only the last one may. */
  readonly isVariadic?: boolean
}

/** A command of `logferry`, in the file of the same name. */
export interface Command {
  /** The text above the options in the help. Line breaks within a paragraph do not matter. */
  readonly description: string
  readonly arguments?: readonly ArgumentForm[]
  readonly options: Readonly<Record<string, OptionForm>>
  /** Names the words after `--`, which are passed on as they are: `logferry dev -- node app.js`. */
  readonly afterDashes?: Pick<ArgumentForm, 'name' | 'description'>
  /** The remedy for arguments that the command does not take, as the end of the message. */
  readonly excessRemedy?: string
  /** The remedies for options that users expect from other tools, by their flags: `-n`. */
  readonly foreignOptions?: Readonly<Record<string, string>>
  /**
   * True if the work or the exit code matters more than the output: the command goes on when the reader of its output has
   * ended, as in `logferry check | grep -q token`.
   */
  readonly outlivesReader?: true
  /**
   * Runs the command, and returns its exit code.
   *
   * @param commands all commands of `logferry`
   * @throws Misuse if an option is invalid; `logferry` then prints the message and exits with 2
   */
  run(given: Given, commands: Commands): Promise<number>
}

/** A command in the list of all commands. Its module loads when the user gives the command, or asks for its help. */
export interface ListedCommand {
  /** The purpose of the command, in a few words. */
  readonly summary: string
  readonly load: () => Promise<{ readonly command: Command }>
}

/** Commands by their words: a name, or the name of a group and a name. */
export type Commands = Readonly<Record<string, ListedCommand>>

/** The command line is invalid. */
export class Misuse extends Error {}
