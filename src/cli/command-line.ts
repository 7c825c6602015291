import { Argument, type CommanderError, InvalidArgumentError, Option, Command as Parser } from 'commander'
import { similarName } from '../text/similar-name.ts'
import { type ArgumentForm, type Command, type Given, Misuse, type OptionForm } from './command.ts'
import { commands, type Group, groups } from './commands.ts'
import { remedyFor } from './option-remedies.ts'
import { bold, printHelp } from './print.ts'

/** Maximum width of the help, in columns. Longer lines are hard to read. */
const maxHelpColumns = 110

/** Returns a parser that knows the names of all commands, but not yet their options. */
export function makeParser(version: string): Parser {
  const program = new Parser('logferry')
    .usage('<command> [options]')
    .version(version, '-v, --version', 'show the version of logferry')
    .helpOption('-h, --help', 'show this')
    .helpCommand('help [command]', 'show the help of a command')
    .exitOverride()
    .configureOutput({
      writeOut: printHelp,
      outputError: () => {}, // `run` prints the error
      getOutHelpWidth: () => Math.min(process.stdout.columns ?? maxHelpColumns, maxHelpColumns),
      getOutHasColors: () => true, // `bold` itself knows if the terminal has colors
    })
    .configureHelp({ styleTitle: bold })
    .addHelpText('after', "\nRun 'logferry help <command>' for the options of a command.")
  for (const [words, { summary }] of Object.entries(commands)) {
    const [first = '', second] = words.split(' ')
    if (second === undefined) program.command(first).summary(summary).description(summary)
    else groupIn(program, first).command(second).summary(summary)
  }
  return program
}

function groupIn(program: Parser, name: string): Parser {
  const known = program.commands.find(command => command.name() === name)
  if (known !== undefined) return known
  const names = Object.keys(commands).filter(words => words.startsWith(`${name} `))
  const { summary, description } = groups[name] as Group
  return program
    .command(name)
    .usage('<command> [options]')
    .summary(`${summary}: ${names.map(words => words.slice(name.length + 1)).join(', ')}`)
    .description(description)
    .helpCommand(false)
}

/** Adds the options and arguments of a command to its parser. `onParsed` gets their values. */
export function define(parser: Parser, form: Command, onParsed: (given: Given) => void): void {
  parser.description(unfolded(form.description)).allowExcessArguments(false)
  for (const [name, option] of Object.entries(form.options)) parser.addOption(optionOf(name, option, parser))
  for (const argument of form.arguments ?? []) parser.addArgument(argumentOf(argument))
  if (form.afterDashes !== undefined) {
    const { name, description } = form.afterDashes
    parser.usage(`[options] [-- ${name}]`).addHelpText('after', `\n${bold('After --:')}\n  ${name}  ${description}`)
  }
  parser.action(() => onParsed(givenTo(parser, form)))
}

/** Converts a paragraph of several lines to one line, so that it can be wrapped to the width of the terminal. */
function unfolded(text: string): string {
  return text.replace(/(?<!\n)\n(?![\n ])/g, ' ')
}

function optionOf(name: string, form: OptionForm, parser: Parser): Option {
  const { description, value, isMultiple = false, choices } = form
  const flags = `--${name}${value === undefined ? '' : ` <${value}>`}`
  const option = new Option(flags, isMultiple ? `${description}; can be given several times` : description)
  if (choices !== undefined) option.choices(choices) // names them in the help
  if (value === undefined) return option
  return option.argParser((given: string, previous: unknown): unknown => {
    // The user has left out the value, and gone on with the next option.
    if (parser.options.some(({ long }) => long === given)) throw new InvalidArgumentError('It is an option itself.')
    if (choices !== undefined && !choices.includes(given)) {
      throw new InvalidArgumentError(`Allowed choices are ${choices.join(', ')}.`)
    }
    return isMultiple ? [...((previous as string[] | undefined) ?? []), given] : given
  })
}

function argumentOf({ name, description, isVariadic, choices }: ArgumentForm): Argument {
  const argument = new Argument(`[${name}${isVariadic === true ? '...' : ''}]`, description)
  return choices === undefined ? argument : argument.choices(choices)
}

function givenTo(parser: Parser, form: Command): Given {
  const values: Record<string, Given[string]> = {}
  for (const option of parser.options) {
    const name = option.long?.slice(2) ?? ''
    if (Object.hasOwn(form.options, name)) values[name] = parser.getOptionValue(option.attributeName())
  }
  for (const [index, { name }] of (form.arguments ?? []).entries()) {
    const value = parser.processedArgs[index] as Given[string]
    if (value === undefined || (Array.isArray(value) && value.length === 0)) continue
    if (values[name] !== undefined) {
      throw new Misuse(`${name} is given twice: as an argument, and with --${name}. Leave out one of them.`)
    }
    values[name] = value
  }
  return values
}

/**
 * Returns the message of the parser as a sentence of ours, with a remedy if there is one. Returns `undefined` if the
 * parser has shown the help or version.
 *
 * @param form the command whose options the parser knew
 */
export function problemIn({ code, exitCode, message }: CommanderError, form: Command | undefined): string | undefined {
  if (exitCode === 0 || code === 'commander.help') return undefined
  const problem = message.replace(/^error: (command-argument )?/, '').replace(/\n\((Did you mean .*\?)\)$/s, '. $1')
  if (form === undefined && /'(-V|version)'$/.test(problem)) return `${problem}. Did you mean --version?`
  if (code === 'commander.unknownOption') return unknownOption(problem, form)
  const remedy = code === 'commander.excessArguments' ? form?.excessRemedy : undefined
  return remedy === undefined ? problem : `${problem} ${remedy}`
}

/**
 * Returns the message without the value of the option, which may be a secret. The parser's own suggestion stands only if
 * no command is known: the parser suggests `--color` for `--follow`.
 */
function unknownOption(problem: string, form: Command | undefined): string {
  const shown = problem.replace(/^(unknown option '[^=]*)=.*'($|\. Did you)/s, "$1'$2")
  const name = /^unknown option '(.*?)'($|\. Did you)/s.exec(shown)?.[1]
  if (name === undefined || form === undefined) return shown
  if (Object.hasOwn(form.options, name.slice('--'.length))) return `option '${name}' takes no value`
  const flag = name.startsWith('--') ? name : name.slice(0, '-n'.length) // the value may follow at once: -n50
  const remedy = excludingQuery(name, form) ?? form.foreignOptions?.[flag] ?? similarOption(flag, form)
  return remedy === undefined ? `unknown option '${name}'` : `unknown option '${name}'. ${remedy}`
}

/** A query may begin with the hyphen that excludes a text, such as `-health`. The parser takes it for an option. */
function excludingQuery(name: string, { arguments: known = [] }: Command): string | undefined {
  const mayBeQuery = /^-[^-]./.test(name) && !/^-[a-z]\d+$/i.test(name) // -n50 is an option
  return mayBeQuery && known.some(argument => argument.name === 'query')
    ? "Put -- before a query that begins with '-', and options before that."
    : undefined
}

function similarOption(flag: string, form: Command): string | undefined {
  const own = [...Object.keys(form.options), 'help']
  const similar = similarName(flag.replace(/^--?/, ''), own.includes('url') ? [...own, 'token'] : own)
  if (similar === undefined) return undefined
  return own.includes(similar) ? `Did you mean --${similar}?` : remedyFor(similar, '')
}
