import type { OptionForm } from '../command.ts'
import { type CompletedCommand, lastWord, topCommands } from './completed-command.ts'

/** Returns a script for fish 3 or later. */
export function fishScript(commands: readonly CompletedCommand[]): string {
  const tops = topCommands(commands)
  const isFirst = "-n '__fish_use_subcommand'"
  const isAfterHelp = `-n ${quoted(`__fish_seen_subcommand_from help; and not __fish_seen_subcommand_from ${tops.map(({ name }) => name).join(' ')}`)}`
  const lines = [
    '# Completes logferry in fish:  logferry completion fish > ~/.config/fish/completions/logferry.fish',
    '',
    'complete -c logferry -f',
    `complete -c logferry ${isFirst} -l version -s v -d 'show the version of logferry'`,
    "complete -c logferry -l help -s h -d 'show the help'",
    `complete -c logferry ${isFirst} -a help -d 'show the help of a command'`,
    ...[isFirst, isAfterHelp].flatMap(condition =>
      tops.map(({ name, summary }) => `complete -c logferry ${condition} -a ${name} -d ${quoted(summary)}`),
    ),
    ...tops.flatMap(({ name, members }) => {
      const others = members.map(lastWord).join(' ')
      const condition = quoted(`__fish_seen_subcommand_from ${name}; and not __fish_seen_subcommand_from ${others}`)
      return members.map(
        member => `complete -c logferry -n ${condition} -a ${lastWord(member)} -d ${quoted(member.summary)}`,
      )
    }),
    ...commands.flatMap(linesOf),
  ]
  return lines.join('\n')
}

function linesOf({ words, options, positional: [argument], runsProgram }: CompletedCommand): string[] {
  const condition = quoted(
    words
      .split(' ')
      .map(word => `__fish_seen_subcommand_from ${word}`)
      .join('; and '),
  )
  const named = Object.entries(options).map(([name, option]) => {
    const values = option.value === undefined ? '' : ` -r${valuesOf(option)}`
    return `complete -c logferry -n ${condition} -l ${name}${values} -d ${quoted(option.description)}`
  })
  if (argument?.choices !== undefined || argument?.completes !== undefined)
    named.push(`complete -c logferry -n ${condition}${valuesOf(argument)}`)
  if (runsProgram)
    named.push(`complete -c logferry -n 'contains -- -- (commandline -opc)' -F -a '(__fish_complete_command)'`)
  return named
}

function valuesOf({ choices, completes }: Pick<OptionForm, 'choices' | 'completes'>): string {
  if (choices !== undefined) return ` -f -a ${quoted(choices.join(' '))}`
  if (completes === 'files') return ' -F'
  return completes === 'directories' ? " -f -a '(__fish_complete_directories)'" : ' -f'
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}
