/**
 * Question: what is the least that an event costs, whoever ships it: making it, stringifying it, writing it into a block?
 * Workload: the event of the other experiments, 300,000 times (quick: 200,000), each piece in a process of its own.
 * Excluded: loggers, requests. The making of the event is in every line except the compressions': subtract the first.
 * Command: npm run bench -- --only pieces
 */
import { nextMessage, startChild } from '../harness/child.ts'
import type { PiecesRequest } from '../pieces/pieces.ts'
import type { Experiment, Measured } from './experiment.ts'

const names = [
  'make the event',
  'JSON.stringify',
  'JSON.stringify + write into a block',
  'format.json()',
  'format.json() + write into a block',
  'new Date().toISOString()',
  'zstd 1',
  'gzip 1',
]

export const pieces: Experiment = {
  name: 'pieces',
  question: 'What does an event cost at least, whichever library ships it?',
  rounds: { full: 5, quick: 3 },
  shows: ['mainNs', 'allNs'],
  charts: ['mainNs'],
  cases: extent =>
    names.map(piece => ({
      subject: piece,
      variant: '',
      measure: () => measured({ piece, events: extent === 'quick' ? 200_000 : 300_000 }),
    })),
}

async function measured(request: PiecesRequest): Promise<Measured> {
  const child = startChild(new URL('../pieces/pieces.js', import.meta.url))
  try {
    child.send(request)
    return { kind: 'figures', figures: await nextMessage<Record<string, number>>(child) }
  } catch (error) {
    return { kind: 'failed', why: (error as Error).message }
  } finally {
    child.kill()
  }
}
