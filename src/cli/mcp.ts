import type { Command } from './command.ts'
import { DevClient, devAddressOf } from './events/dev-client.ts'
import { sourceOptions } from './events/reader-options.ts'
import { serveMcp } from './mcp/mcp-server.ts'
import { packageVersion } from './package-version.ts'
import { printError } from './print.ts'

export const command: Command = {
  description: `Serves the logs of a running 'logferry dev' to coding agents, by the Model Context Protocol over standard input
and output. The server only reads. It may start before the dev service, and then answers how to start it.

To add it to an agent, name the command: npx logferry mcp

Exits with 0 when the agent closes standard input.`,
  options: {
    url: sourceOptions.url,
    'allow-insecure': sourceOptions['allow-insecure'],
  },
  async run(given) {
    if (process.stdin.isTTY) printError(onTerminal)
    await serveMcp(new DevClient(devAddressOf(given)), packageVersion())
    return 0
  },
}

const onTerminal =
  'This server talks to a coding agent, which starts it: see logferry mcp --help. On a terminal it has nothing to show. Press Ctrl-C to stop it.'
