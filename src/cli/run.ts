import { parseArgs } from 'node:util'
import { type Command, Misuse } from './command.ts'

const help = `Usage: logferry <command> [options]

Commands:
  emulator    start the service on this machine, for local work and tests
  check       send one test event with the options of the environment, and say what became of it

Options:
  --help      show this; after a command, what it does and takes
  --version   show the version of logferry`

/** A command's module is loaded when it is asked for. */
const commands: Readonly<Record<string, () => Promise<{ command: Command }>>> = {
  emulator: () => import('./emulator.ts'),
  check: () => import('./check.ts'),
}

/** Does what the command line says, and gives the exit code: 0, 1 when it did not work, 2 when it makes no sense. */
export async function run(args: readonly string[], version: string): Promise<number> {
  const [name, ...rest] = args
  if (name === '--version' || name === '-v') return say(version)
  if (name === '--help' || name === '-h' || name === 'help') return say(help)
  const load = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined
  if (load === undefined) {
    return complain(name === undefined ? 'say which command' : `there is no command or option '${name}'`, help)
  }
  const { command } = await load()
  try {
    const { help: wantsHelp, ...given } = parsed(rest, command)
    return wantsHelp === true ? say(command.help) : await command.run(given)
  } catch (error) {
    if (error instanceof Misuse) return complain(error.message, command.help)
    throw error
  }
}

function parsed(args: string[], { options }: Command) {
  try {
    return parseArgs({ args, options: { ...options, help: { type: 'boolean', short: 'h' } } }).values
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (!code?.startsWith('ERR_PARSE_ARGS_')) throw error
    // Node's message goes on to explain how an argument may begin with a dash. Nothing here takes one.
    throw new Misuse(message.split(/\.\s/, 1)[0])
  }
}

function say(text: string): 0 {
  console.log(text)
  return 0
}

function complain(what: string, help: string): 2 {
  console.error(`logferry: ${what}\n\n${help}`)
  return 2
}
