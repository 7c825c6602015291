import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { setImmediate } from '../time.ts'
import { defaultDataset } from './dev-service.ts'

/** What the program needs to ship to the dev service. */
export interface ProgramTarget {
  readonly url: string
  readonly token: string
  readonly orgId: string
}

const notFound = 127
const notExecutable = 126
const signalBase = 128

const forwarded = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'] as const

/** Signals that a terminal sends to every process of its foreground group, so that the program has them already. */
const ofTerminal: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT']

/**
 * Runs a program with the environment of the dev service, and waits for its end.
 *
 * @returns its exit code, as a shell has it: 128 and the number of the signal that ended it, 127 if it was not found
 */
export function runProgram(
  [command = '', ...args]: readonly string[],
  target: ProgramTarget,
  onProblem: (message: string) => void,
): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>()
  let child: ChildProcess
  try {
    child = spawn(command, args, { stdio: 'inherit', env: programEnvironment(process.env, target) })
  } catch (error) {
    // Only the most frequent errors are events of the child.
    onProblem(`cannot run ${command}: ${reasonOf(command, error as NodeJS.ErrnoException)}`)
    return Promise.resolve(notExecutable)
  }
  // Any of them may be redirected: `logferry dev -- ./import < orders.csv`.
  const hasTerminal = [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY)
  const forward = (signal: NodeJS.Signals): void => {
    if (!(hasTerminal && ofTerminal.includes(signal))) child.kill(signal)
  }
  for (const signal of signalsHere()) process.on(signal, forward)
  child.once('error', (error: NodeJS.ErrnoException) => {
    if (child.pid !== undefined) return // a signal could not be sent
    onProblem(`cannot run ${command}: ${reasonOf(command, error)}`)
    resolve(error.code === 'ENOENT' ? notFound : notExecutable)
  })
  child.once('exit', (code, signal) => {
    resolve(code ?? signalBase + (signal === null ? 0 : constants.signals[signal]))
  })
  return promise.finally(() => {
    // Later, so that no signal ends the process before the caller has added its own listeners.
    setImmediate(() => {
      for (const signal of signalsHere()) process.off(signal, forward)
    })
  })
}

function reasonOf(command: string, { code, message }: NodeJS.ErrnoException): string {
  if (code === 'ENOENT') {
    return command.includes('/') && existsSync(command)
      ? 'the program that its first line names was not found. Correct the line, or name the program that runs the file.'
      : 'command not found'
  }
  if (code === 'ENOTDIR') return 'a part of the path is a file (ENOTDIR). Check the path.'
  if (code === 'E2BIG') return 'its arguments and environment are too long (E2BIG)'
  if (code === 'EACCES') return 'it may not be executed (EACCES). Name the program that runs the file, such as node.'
  return message
}

/**
 * Returns the environment of the program. The endpoint for all signals of OpenTelemetry is set only if it is not set
 * already: spans and metrics go on to where they went before. An empty variable is not set, to us and to OpenTelemetry.
 */
function programEnvironment(env: NodeJS.ProcessEnv, { url, token, orgId }: ProgramTarget): NodeJS.ProcessEnv {
  const ownEndpoint = env.OTEL_EXPORTER_OTLP_ENDPOINT || undefined
  const protocol = 'http/protobuf'
  return {
    ...env,
    LOGFERRY_URL: url,
    LOGFERRY_TOKEN: token,
    LOGFERRY_DATASET: env.LOGFERRY_DATASET || defaultDataset,
    LOGFERRY_ORG_ID: orgId,
    OTEL_EXPORTER_OTLP_ENDPOINT: ownEndpoint ?? url,
    ...(ownEndpoint === undefined && { OTEL_EXPORTER_OTLP_PROTOCOL: protocol }),
    OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: `${url}/v1/logs`,
    OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: protocol,
    OTEL_EXPORTER_OTLP_LOGS_HEADERS: `Authorization=Bearer%20${encodeURIComponent(token)}`,
  }
}

function signalsHere(): readonly NodeJS.Signals[] {
  return process.platform === 'win32' ? ['SIGINT', 'SIGTERM', 'SIGHUP'] : forwarded
}
