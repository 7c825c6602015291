import { CommanderError, type Command as Parser } from 'commander'
import { toMessageLine } from '../text/short-line.ts'
import { type Command, type Given, Misuse } from './command.ts'
import { define, makeParser, problemIn } from './command-line.ts'
import { commands, groups } from './commands.ts'
import { directoryRemoved, isDirectoryRemoved } from './current-directory.ts'
import { outputEnded } from './output-ended.ts'
import { printError } from './print.ts'
import { endAfterStop } from './stop-signals.ts'

/**
 * Runs a command line. Returns the exit code: 0 for success, 1 if the command failed, 2 if the command line is invalid.
 */
export async function run(args: readonly string[], version: string): Promise<number> {
  const isHelp = args[0] === 'help'
  const words = isHelp ? args.slice(1) : args
  const name = nameIn(words)
  const path = name === '' ? [] : name.split(' ')
  // Further words do not run the command: `logferry help spool send /var/spool/app` sends nothing.
  const isOfHelp = isHelp && (words.length === path.length || Object.hasOwn(commands, name))
  const rest = isOfHelp ? ['--help'] : words.slice(path.length)
  let command: Command | undefined
  try {
    const program = makeParser(version)
    const listed = Object.hasOwn(commands, name) ? commands[name] : undefined
    command = (await listed?.load())?.command
    if (command !== undefined) {
      const exitCode = await runCommand(command, program, path, rest)
      endAfterStop()
      return exitCode
    }
    if (rest.length === 0) throw new Misuse(incomplete(name))
    await program.parseAsync([...path, ...rest.slice(0, 1)], { from: 'user' })
    return 0
  } catch (error) {
    if (isDirectoryRemoved(error)) {
      printError(`logferry: ${directoryRemoved.problem}. ${directoryRemoved.remedy}`)
      return 1
    }
    const problem = error instanceof CommanderError ? problemIn(error, command) : (error as Error).message
    if (problem === undefined) return 0
    if (!(error instanceof Misuse || error instanceof CommanderError)) throw error
    const next = name === '' ? "Run 'logferry --help' for the commands." : `Run 'logferry ${name} --help' for help.`
    printError(`logferry: ${toMessageLine(problem)}\n${next}`)
    return 2
  }
}

/** Returns the words at the beginning that name a command or a group of commands, or else an empty text. */
function nameIn([first = '', second = '']: readonly string[]): string {
  const candidates = [`${first} ${second}`, first]
  return candidates.find(name => Object.hasOwn(commands, name) || Object.hasOwn(groups, name)) ?? ''
}

function incomplete(group: string): string {
  if (group === '') return 'no command given'
  const members = Object.keys(commands).filter(name => name.startsWith(`${group} `))
  const list = new Intl.ListFormat('en', { type: 'disjunction' }).format(members.map(name => `'logferry ${name}'`))
  return `incomplete command '${group}'. Try ${list}.`
}

async function runCommand(
  command: Command,
  program: Parser,
  path: readonly string[],
  rest: readonly string[],
): Promise<number> {
  const dashesAt = command.afterDashes === undefined ? -1 : rest.indexOf('--')
  const ownWords = dashesAt < 0 ? rest : rest.slice(0, dashesAt)
  let given: Given = {}
  define(parserAt(program, path), command, values => {
    given = values
  })
  await program.parseAsync([...path, ...ownWords], { from: 'user' })
  if (command.outlivesReader === true) void outputEnded() // its listener keeps the process
  if (command.afterDashes === undefined || dashesAt < 0) return command.run(given, commands)
  return command.run({ ...given, [command.afterDashes.name]: rest.slice(dashesAt + 1) }, commands)
}

function parserAt(program: Parser, path: readonly string[]): Parser {
  return path.reduce((parser, word) => parser.commands.find(command => command.name() === word) ?? parser, program)
}
