import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { core, environmentFor } from '../exit/running.ts'
import { startFaultServer } from '../support/fault-server.ts'
import { runProgram } from '../support/run-script.ts'
import { brokenOf, type Figures, type Progress } from './figures.ts'

const exitTimeoutMs = 400

/** Long after the timeout, in seconds. A process that has not ended by then never does, and is killed. */
const hungAfterSeconds = 10

/** Node itself (nodejs/node#54918) still lets one of a thousand hang, and let 18 hang without our part. */
const maxHungShare = 0.005

const eventsEach = 2000

const source = `${core(`exitTimeoutMs: ${exitTimeoutMs}, compression: 'none'`)}
for (let n = 0; n < ${eventsEach}; n++) shipper.ship({ n, text: 'x'.repeat(4000) })
process.on('exit', () => console.error(JSON.stringify(shipper.stats())))
process.exit()`

/** Scenario 5 on a machine whose cores are all busy: each process still ends, six at a time. */
export async function busyEnds(processes: number, progress: Progress): Promise<Figures> {
  await using server = await startFaultServer(() => {}, { onConnection: socket => void socket.pause() })
  using busy = new DisposableStack()
  for (let core = 0; core <= availableParallelism(); core++) {
    const hog = spawn(process.execPath, ['--eval', 'for (;;);'], { stdio: 'ignore' })
    busy.defer(() => hog.kill('SIGKILL'))
  }
  let started = 0
  let ended = 0
  let hung = 0
  let counted = 0
  const runSome = async (): Promise<void> => {
    while (started++ < processes) {
      const args = ['--signal=KILL', `${hungAfterSeconds}`, process.execPath, '--input-type=module', '--eval', source]
      const { code, stderr } = await runProgram('timeout', args, environmentFor(server))
      if (code !== 0) hung++
      counted += JSON.parse(/^{.*}$/m.exec(stderr)?.[0] ?? '{"dropped":0}').dropped
      progress(`${++ended} of ${processes} processes, ${hung} of them hung`)
    }
  }
  await Promise.all(Array.from({ length: 6 }, runSome))
  const events = processes * eventsEach
  return {
    events,
    lost: events - counted,
    twice: 0,
    requests: server.connections,
    notes: `${hung} of ${processes} processes hung`,
    broken: brokenOf({
      'processes end': hung <= processes * maxHungShare,
      'every event is counted': counted === events,
    }),
  }
}
