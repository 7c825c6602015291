import type { ArgumentForm, OptionForm } from '../command.ts'

/** A command as the scripts for completion need it. */
export interface CompletedCommand {
  /** The name of the command, after the name of its group if it has one. */
  readonly words: string
  readonly summary: string
  readonly options: Readonly<Record<string, OptionForm>>
  /** The arguments without a name. */
  readonly positional: readonly ArgumentForm[]
  /** True if a command line of another program follows after `--`. */
  readonly runsProgram: boolean
}

/** The commands of one group, or one command that is in no group. */
export interface TopCommand {
  readonly name: string
  readonly summary: string
  /** Empty for a command that is in no group. */
  readonly members: readonly CompletedCommand[]
}

/** Returns the words that may follow `logferry`, each of them once. */
export function topCommands(commands: readonly CompletedCommand[]): TopCommand[] {
  const names = new Set(commands.map(({ words }) => words.split(' ', 1).join()))
  return [...names].map(name => {
    const members = commands.filter(({ words }) => words.startsWith(`${name} `))
    const summary = commands.find(({ words }) => words === name)?.summary ?? members.map(lastWord).join(', ')
    return { name, summary, members }
  })
}

export function lastWord({ words }: CompletedCommand): string {
  return words.slice(words.indexOf(' ') + 1)
}
