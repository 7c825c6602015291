import type { ArgumentForm, OptionForm } from '../command.ts'
import { type CompletedCommand, lastWord, topCommands } from './completed-command.ts'

/** Returns a script for bash 3.2 or later. It uses nothing of the package bash-completion. */
export function bashScript(commands: readonly CompletedCommand[]): string {
  const tops = topCommands(commands)
  const groups = tops.filter(({ members }) => members.length > 0)
  const known = ['help', ...groups.map(({ name }) => name), ...commands.map(({ words }) => words)]
  return `# Completes logferry in bash:  source <(logferry completion bash)

_logferry() {
  local IFS=$' \\t\\n' cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" path='' next i
  COMPREPLY=()
  # bash splits --name=value into three words
  if [[ $cur == '=' ]]; then cur=''; elif [[ $prev == '=' ]]; then prev="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="\${path:+$path }\${COMP_WORDS[i]}"
    case "$next" in
      ${known.map(quoted).join('|')}) path="$next" ;;
      *) break ;;
    esac
  done
  # After --, a command line of another program follows
  for ((; i < COMP_CWORD; i++)); do
    if [[ \${COMP_WORDS[i]} == '--' ]]; then _logferry_names "$cur" "$( ((i == COMP_CWORD - 1)) && echo -c || echo -f)"; return; fi
  done
  case "$path $prev" in
${commands.flatMap(valueCases).join('\n')}
  esac
  case "$path" in
    help) ((COMP_CWORD > 2)) || _logferry_words "$cur" '${tops.map(({ name }) => name).join(' ')}' '' ;;
    '') ((COMP_CWORD > 1)) || _logferry_words "$cur" '${[...tops.map(({ name }) => name), 'help'].join(' ')}' '--help --version' ;;
${groups.map(({ name, members }) => `    ${quoted(name)}) ((COMP_CWORD > 2)) || _logferry_words "$cur" '${members.map(lastWord).join(' ')}' --help ;;`).join('\n')}
${commands.map(commandCase).join('\n')}
  esac
}

_logferry_words() {
  if [[ $1 == -* ]]; then COMPREPLY=($(compgen -W "$3" -- "$1")); else COMPREPLY=($(compgen -W "$2" -- "$1")); fi
}

_logferry_names() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen "$2" -- "$1"))
  compopt -o filenames 2>/dev/null
}

complete -F _logferry logferry`
}

function valueCases({ words, options }: CompletedCommand): string[] {
  return Object.entries(options)
    .filter(([, option]) => option.value !== undefined)
    .map(([name, option]) => `    ${quoted(`${words} --${name}`)}) ${valuesOf(option)}return ;;`)
}

function commandCase({ words, options, positional: [argument] }: CompletedCommand): string {
  const flags = [...Object.keys(options), 'help'].map(name => `--${name}`).join(' ')
  const choices = argument?.choices?.join(' ') ?? ''
  const names = argument?.completes === undefined ? '' : `[[ $cur == -* ]] || ${valuesOf(argument)}`
  return `    ${quoted(words)}) _logferry_words "$cur" '${choices}' '${flags}'; ${names};;`.replace('; ;;', ' ;;')
}

/** Returns the command that completes a value, with a semicolon; an empty text if the shell cannot know the values. */
function valuesOf({ choices, completes }: Pick<OptionForm & ArgumentForm, 'choices' | 'completes'>): string {
  if (choices !== undefined) return `_logferry_words "$cur" '${choices.join(' ')}' ''; `
  if (completes === undefined) return ''
  return `_logferry_names "$cur" ${completes === 'files' ? '-f' : '-d'}; `
}

function quoted(text: string): string {
  return `'${text}'`
}
