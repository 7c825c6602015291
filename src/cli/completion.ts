import { type Command, Misuse } from './command.ts'
import { bashScript } from './completion/bash-script.ts'
import type { CompletedCommand } from './completion/completed-command.ts'
import { fishScript } from './completion/fish-script.ts'
import { zshScript } from './completion/zsh-script.ts'
import { print } from './print.ts'

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript }
type Shell = keyof typeof scripts

export const command: Command = {
  description: `Prints a script that completes the commands and options of logferry in a shell. The script needs no other program,
and runs no Node while you type. Run the command again after an update of logferry.

  bash  logferry completion bash > ~/.logferry-completion
        Then, in ~/.bashrc: source ~/.logferry-completion
  zsh   logferry completion zsh > ~/_logferry
        Move the file to a folder of $fpath.
  fish  logferry completion fish > ~/logferry.fish
        Move the file to ~/.config/fish/completions.`,
  arguments: [{ name: 'shell', description: 'bash, zsh or fish', choices: Object.keys(scripts) }],
  options: {},
  async run({ shell }, commands) {
    if (shell === undefined) throw new Misuse('no shell given: name bash, zsh or fish')
    const completed = await Promise.all(
      Object.entries(commands).map(async ([words, { summary, load }]): Promise<CompletedCommand> => {
        const { command } = await load()
        const runsProgram = command.afterDashes !== undefined
        return { words, summary, options: command.options, positional: command.arguments ?? [], runsProgram }
      }),
    )
    print(scripts[shell as Shell](completed))
    return 0
  },
}
