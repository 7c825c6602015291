import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startFaultServer } from '../support/fault-server.ts'
import { type RunningPipe, startPipe } from '../support/start-pipe.ts'
import { brokenOf, type Figures, noProgress, type Progress } from './figures.ts'

export interface PipeKills {
  readonly lines: number
  readonly kills: number
}

const newline = 0x0a
const linesPerWrite = 500
const shareOf503 = 0.3
const text = 'order placed, and what else a line may say of it '.repeat(3)

/**
 * Processes of `logferry pipe --tee --spool` are killed while they read. The next process is given the lines from the
 * first one on that has not come out, as a program would that reads what came out. Every line must arrive.
 */
export async function pipeKills({ lines, kills }: PipeKills, progress: Progress = noProgress): Promise<Figures> {
  const directory = await mkdtemp(join(tmpdir(), 'logferry-pipe-'))
  const server = await startFaultServer(
    request => {
      if (!request.isWhole) return
      if (Math.random() < shareOf503) request.answer('503 Service Unavailable')
      else request.take()
    },
    { keepsRequests: false },
  )
  const target = { url: server.url, token: 'a-token-of-tests' }
  const args = ['--tee', '--spool', directory]
  try {
    let safe = 0
    for (let killed = 0; killed < kills; killed++) {
      const killAt = safe + Math.ceil(((lines - safe) / (kills - killed + 1)) * (0.5 + Math.random()))
      safe += await linesUntilKilled(startPipe(target, args), safe, Math.min(killAt, lines - 1), lines)
      progress(`${killed + 1} of ${kills} killed, ${safe} lines came out, ${server.numbers.length} events arrived`)
    }
    await using last = startPipe(target, args)
    await feed(last, safe, lines)
    const code = await last.end()
    const { lost, twice } = arrivals(server.numbers, lines)
    const left = await readdir(directory)
    return {
      events: lines,
      lost,
      twice,
      requests: server.requestCount,
      notes: `${kills} killed; ${twice} arrived again`,
      broken: brokenOf({
        'no line is missing that came out': lost === 0,
        'the last process exits with 0': code === 0,
        'nothing is left': left.length === 0,
      }),
    }
  } finally {
    await server.close()
    await rm(directory, { recursive: true })
  }
}

/** Feeds lines from `first` on, kills the process once `killAt` has come out, and returns how many lines came out. */
async function linesUntilKilled(pipe: RunningPipe, first: number, killAt: number, lines: number): Promise<number> {
  await using running = pipe
  let cameOut = 0
  running.stdout.on('data', (chunk: Buffer) => {
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, at + 1)) cameOut++
    if (first + cameOut >= killAt) running.kill('SIGKILL')
  })
  const ended = once(running.stdout, 'end')
  await feed(running, first, lines)
  await ended
  return cameOut
}

/** Writes lines as fast as the process reads them, until the last line, or until the process has ended. */
async function feed({ stdin }: RunningPipe, first: number, lines: number): Promise<void> {
  for (let n = first; n < lines && !stdin.destroyed; n += linesPerWrite) {
    const some = Array.from(
      { length: Math.min(linesPerWrite, lines - n) },
      (_, i) => `{"n":${n + i},"msg":"${text}"}\n`,
    )
    await new Promise<void>(resolve => stdin.write(some.join(''), () => resolve())) // also if the process has ended
  }
}

function arrivals(numbers: readonly number[], lines: number): { lost: number; twice: number } {
  const seen = new Uint8Array(lines)
  let twice = 0
  for (const n of numbers) {
    if (seen[n] === 1) twice++
    seen[n] = 1
  }
  return { lost: seen.reduce((lost, one) => lost + 1 - one, 0), twice }
}
