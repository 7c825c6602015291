import type { Commands } from './command.ts'

/** All commands, in the order of the help. */
export const commands: Commands = {
  dev: {
    summary: 'show the logs of a program as they arrive, on a page of this machine',
    load: () => import('./dev.ts'),
  },
  emulator: {
    summary: 'run the service on this machine, for local work and tests',
    load: () => import('./emulator.ts'),
  },
  tail: {
    summary: "print the events of a running 'logferry dev', or of a spool, as they arrive",
    load: () => import('./tail.ts'),
  },
  logs: {
    summary: "print the events that a running 'logferry dev' keeps, or that are in a spool",
    load: () => import('./logs.ts'),
  },
  mcp: {
    summary: "serve the logs of a running 'logferry dev' to coding agents (MCP)",
    load: () => import('./mcp.ts'),
  },
  check: {
    summary: 'check each step from this machine to the service, and name the remedy for each failure',
    load: () => import('./check.ts'),
  },
  pipe: {
    summary: 'ship the lines that a program writes, whatever its language',
    load: () => import('./pipe.ts'),
  },
  'spool ls': {
    summary: 'list the events that wait in the spool of an application',
    load: () => import('./spool-ls.ts'),
  },
  'spool show': {
    summary: 'print the events that wait in a spool',
    load: () => import('./spool-show.ts'),
  },
  'spool verify': {
    summary: 'check the events in a spool by their checksums',
    load: () => import('./spool-verify.ts'),
  },
  'spool export': {
    summary: 'write the events that wait in a spool as JSON, one line each',
    load: () => import('./spool-export.ts'),
  },
  'spool send': {
    summary: 'deliver the events that ended processes left in a spool',
    load: () => import('./spool-send.ts'),
  },
  'spool resend-rejected': {
    summary: 'send refused events again, after an edit',
    load: () => import('./spool-resend-rejected.ts'),
  },
  audit: {
    summary: 'look for lost and duplicate events in an export, by the uids that the option identify gives',
    load: () => import('./audit.ts'),
  },
  bench: {
    summary: 'measure how fast the service accepts events, and propose options for it',
    load: () => import('./bench.ts'),
  },
  completion: {
    summary: 'print a script that completes commands and options in a shell',
    load: () => import('./completion.ts'),
  },
}

/** Commands that have their first word in common. */
export interface Group {
  readonly summary: string
  /** The text above the list of the commands in the help. */
  readonly description: string
}

export const groups: Readonly<Record<string, Group>> = {
  spool: {
    summary: 'look into the spool of an application, and empty it',
    description: 'A spool is the directory where events wait on disk that could not be delivered yet (option `spool`).',
  },
}
