import type { OptionForm } from '../command.ts'
import { type CompletedCommand, lastWord, topCommands } from './completed-command.ts'

/** Returns a script for zsh 5 or later. It can be a file of `fpath`, or be sourced after `compinit`. */
export function zshScript(commands: readonly CompletedCommand[]): string {
  const tops = topCommands(commands)
  const groups = tops.filter(({ members }) => members.length > 0)
  const single = commands.filter(({ words }) => !words.includes(' '))
  const topNames = tops.map(({ name, summary }) => described(name, summary)).join('\n')
  return `#compdef logferry
# Completes logferry in zsh:  logferry completion zsh > "\${fpath[1]}/_logferry"

_logferry() {
  local -a names
  if (( CURRENT == 2 )); then
    names=(
${topNames}
${described('help', 'show the help of a command')}
    )
    _describe -t commands command names
    _arguments '--version[show the version of logferry]' '--help[show the help]'
    return
  fi
  shift words; (( CURRENT-- ))
  case "$words[1]" in
    help)
      (( CURRENT == 2 )) || return
      names=(
${topNames}
      )
      _describe -t commands command names ;;
${groups.map(groupCase).join('\n')}
${single.map(command => argumentsCase(command, command.words)).join('\n')}
  esac
}

if [[ "$funcstack[1]" == _logferry ]]; then _logferry "$@"; else compdef _logferry logferry; fi`
}

function groupCase({
  name,
  members,
}: {
  readonly name: string
  readonly members: readonly CompletedCommand[]
}): string {
  return `    ${name})
      if (( CURRENT == 2 )); then
        names=(
${members.map(member => described(lastWord(member), member.summary)).join('\n')}
        )
        _describe -t commands command names
        return
      fi
      shift words; (( CURRENT-- ))
      case "$words[1]" in
${members.map(member => argumentsCase(member, lastWord(member))).join('\n')}
      esac ;;`
}

function argumentsCase({ options, positional, runsProgram }: CompletedCommand, name: string): string {
  const specs = Object.entries(options).map(([option, form]) => {
    const { value, description, isMultiple } = form
    const explained = `--${option}${value === undefined ? '' : '='}[${escaped(description)}]`
    const times = isMultiple === true ? '*' : ''
    return quoted(value === undefined ? explained : `${times}${explained}:${value}:${valuesOf(form)}`)
  })
  const all = [...specs, quoted('--help[show the help]')]
  for (const [index, argument] of positional.entries()) {
    all.push(quoted(`${argument.isVariadic === true ? '*' : index + 1}:${argument.name}:${valuesOf(argument)}`))
  }
  if (runsProgram) all.push(quoted('*::program:_normal'))
  return `    ${name}) _arguments -S ${all.join(' ')} ;;`
}

function valuesOf({ choices, completes }: Pick<OptionForm, 'choices' | 'completes'>): string {
  if (choices !== undefined) return `(${choices.join(' ')})`
  if (completes === undefined) return ' '
  return completes === 'files' ? '_files' : '_files -/'
}

function described(name: string, summary: string): string {
  return `      ${quoted(`${name}:${escaped(summary)}`)}`
}

function escaped(text: string): string {
  return text.replace(/[\\[\]:]/g, '\\$&')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
