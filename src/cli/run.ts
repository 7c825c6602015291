import { parseArgs } from 'node:util'
import { toMessageLine, toShortLine } from '../text/short-line.ts'
import { type Command, type Given, Misuse } from './command.ts'
import { print, printError } from './print.ts'

const help = `Usage: logferry <command> [options]

Commands:
  emulator    run the service on this machine, for local work and tests
  check       send one test event with the options of the environment, and report the result
  pipe        ship the lines that a program writes, whatever its language
  spool ls    list the events that wait in the spool of an application
  spool send  deliver the events that ended processes left in a spool
  audit       look for lost and duplicate events in an export, by the uids that the option identify gives
  bench       measure how fast the service accepts events, and propose options for it

Options:
  --help      show this; after a command, show its help, as 'logferry help <command>' does
  --version   show the version of logferry`

/** The commands by name. A command's module loads only when the user gives the command. */
const commands: Readonly<Record<string, () => Promise<{ command: Command }>>> = {
  emulator: () => import('./emulator.ts'),
  check: () => import('./check.ts'),
  pipe: () => import('./pipe.ts'),
  'spool ls': () => import('./spool-ls.ts'),
  'spool send': () => import('./spool-send.ts'),
  audit: () => import('./audit.ts'),
  bench: () => import('./bench.ts'),
}

/**
 * Runs a command line. Returns the exit code: 0 for success, 1 if the command failed, 2 if the command line is invalid.
 */
export async function run(args: readonly string[], version: string): Promise<number> {
  const [name, next] = args
  if (name === '--version' || name === '-v') return say(version)
  if (name === 'help' && next !== undefined) return run([...args.slice(1), '--help'], version)
  if (isHelp(name) || name === 'help') return say(help)
  const [called = '', load] =
    Object.entries(commands).find(([words]) => `${args.join(' ')} `.startsWith(`${words} `)) ?? []
  if (load === undefined) {
    const group = Object.keys(commands).filter(command => command.startsWith(`${name} `))
    if (group.length > 0 && isHelp(next)) return say(help)
    return complain(
      name === undefined
        ? "no command given. Try 'logferry emulator' or 'logferry --help'."
        : whichOf(group, name, next),
      help,
    )
  }
  const { command } = await load()
  try {
    const { help: wantsHelp, ...given } = parsed(args.slice(called.split(' ').length), command)
    return wantsHelp === true ? say(command.help) : await command.run(given)
  } catch (error) {
    if (error instanceof Misuse) return complain(error.message, command.help)
    throw error
  }
}

function isHelp(word: string | undefined): boolean {
  return word === '--help' || word === '-h'
}

/** Returns the error message for an unknown command. `group` holds the commands that start with the same word. */
function whichOf(group: readonly string[], name: string, next = ''): string {
  if (group.length === 0) return `unknown command or option '${toShortLine(name)}'`
  return next === ''
    ? `incomplete command '${name}'. Try ${group.join(' or ')}.`
    : `unknown command '${name} ${toShortLine(next)}'`
}

function parsed(args: string[], { options, argument }: Command): Given {
  const { values, positionals } = parsedByNode({ args, options, allowPositionals: argument !== undefined })
  const [given, ...more] = positionals
  if (argument === undefined || given === undefined) return values
  const unexpected = Object.hasOwn(values, argument) ? given : more[0]
  if (unexpected !== undefined) throw new Misuse(`Unexpected argument '${toShortLine(unexpected)}'`)
  return { ...values, [argument]: given }
}

interface ParsedByNode extends Pick<Command, 'options'> {
  readonly args: string[]
  readonly allowPositionals: boolean
}

function parsedByNode({ options, ...rest }: ParsedByNode) {
  try {
    return parseArgs({ ...rest, options: { ...options, help: { type: 'boolean', short: 'h' } } })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (!code?.startsWith('ERR_PARSE_ARGS_')) throw error
    // Node's message goes on to explain how an argument can start with a dash. No argument of `logferry` starts with
    // one.
    throw new Misuse(message.split(/\.\s/, 1)[0])
  }
}

function say(text: string): 0 {
  print(text)
  return 0
}

function complain(what: string, help: string): 2 {
  printError(`logferry: ${toMessageLine(what)}\n\n${help}`)
  return 2
}
