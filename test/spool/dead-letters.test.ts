import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { DeadLetters } from '../../src/spool/dead-letters.ts'
import { runScript } from '../support/run-script.ts'
import { mustRunSync } from '../support/run-sync.ts'
import { startShipping } from '../support/shipping.ts'

let directory: string
let path: string
beforeEach(() => {
  directory = fs.mkdtempSync(join(tmpdir(), 'logferry-letters-'))
  path = join(directory, 'rejected.ndjson')
})
afterEach(() => fs.rmSync(directory, { recursive: true }))

function lettersIn(file: string): Record<string, unknown>[] {
  return fs
    .readFileSync(file, 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
}

/** Makes the closing of the file fail, as a network disk does that could not write. */
function closeBehindItsBack(): void {
  const open = fs.readdirSync('/proc/self/fd').find(file => {
    const link = join('/proc/self/fd', file)
    return fs.lstatSync(link, { throwIfNoEntry: false }) !== undefined && fs.readlinkSync(link) === path
  })
  fs.closeSync(Number(open))
}

describe.runIf(process.platform === 'linux')('a file whose closing fails', () => {
  it('is reported, and close() does not reject', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.rejectEvents(() => true, 'no')
    const shipper = shipping.ship({ spool: { directory } })
    shipper.ship({ n: 0 })
    await shipper.flush()
    closeBehindItsBack()
    expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    expect(shipping.warnings).toContainEqual(
      expect.objectContaining({ message: expect.stringMatching(/rejected\.ndjson .* cannot be written \(EBADF\)/) }),
    )
    expect(fs.readdirSync(directory)).toEqual(['rejected.ndjson'])
  })
})

describe('an event that the service refuses', () => {
  it('is written to rejected.ndjson with the reason, and passed to onRejected', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.rejectEvents(({ n }) => n === 1, 'too many fields')
    const told: unknown[] = []
    const onRejected = (event: unknown, reason: string) => told.push([event, reason])
    const shipper = shipping.ship({ spool: { directory }, onRejected })
    for (const n of [0, 1, 2]) shipper.ship({ n, text: 'naïve' })
    await shipper.flush()
    const [letter, ...others] = lettersIn(path)
    expect(others).toEqual([])
    expect(letter).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      dataset: 'd',
      status: 200,
      reason: 'too many fields',
      event: { _time: expect.any(String), n: 1, text: 'naïve' },
    })
    expect(told).toEqual([[letter?.event, 'too many fields']])
    expect(fs.statSync(path).mode & 0o777).toBe(0o600)
    expect(shipper.stats()).toMatchObject({ delivered: 2, drops: { rejected: { info: 1 } } })
  })

  it('with its whole request is written with the status, and the others are delivered', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.rejectRequests(({ n }) => n === 3, { status: 422 })
    const shipper = shipping.ship({ spool: { directory } })
    for (let n = 0; n < 8; n++) shipper.ship({ n })
    await shipper.flush()
    expect(shipping.emulator.eventCount('d')).toBe(7)
    expect(lettersIn(path)).toMatchObject([{ status: 422, event: { n: 3 } }])
  })

  it('without naming it is written without the event, and passed as undefined', async () => {
    await using shipping = await startShipping()
    const body = { ingested: 1, failed: 1, failures: [{ error: 'one of them' }] }
    shipping.emulator.faults.answerNext(1, { status: 200, body })
    const told: unknown[] = []
    const shipper = shipping.ship({ spool: { directory }, onRejected: event => told.push(event) })
    for (const n of [0, 1]) shipper.ship({ n })
    await shipper.flush()
    expect(lettersIn(path)).toEqual([{ time: expect.any(String), dataset: 'd', status: 200, reason: 'one of them' }])
    expect(told).toEqual([undefined])
  })

  it('does no harm if onRejected throws: one warning, and shipping continues', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.rejectEvents(({ n }) => (n as number) < 3, 'no')
    const onRejected = () => {
      throw new TypeError('a mistake')
    }
    const shipper = shipping.ship({ onRejected })
    for (let n = 0; n < 10; n++) shipper.ship({ n })
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    expect(shipper.stats()).toMatchObject({ delivered: 7, dropped: 3 })
    expect(shipping.warnings.filter(({ code }) => code === 'LOGFERRY_CALLBACK_THREW')).toHaveLength(1)
  })

  it('may be logged again by onRejected', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.rejectEvents(({ bad }) => bad === true, 'no')
    const shipper = shipping.ship({
      spool: { directory },
      durability: 'disk',
      onRejected: (event, reason) => void shipper.ship({ n: event?.n, reason }),
    })
    for (const n of [0, 1]) shipper.ship({ n, bad: true })
    await shipper.flush()
    await shipper.flush()
    expect(shipping.emulator.events('d')).toMatchObject([
      { n: 0, reason: 'no' },
      { n: 1, reason: 'no' },
    ])
  })
})

describe('rejected.ndjson', () => {
  const letter = (n: number) => ({
    dataset: 'd',
    json: JSON.stringify({ n, pad: 'x'.repeat(60) }),
    status: 400,
    reason: 'bad',
  })
  const numbersIn = (file: string) => lettersIn(file).map(({ event }) => (event as { n: number }).n)

  it('and the previous file are bounded, and have the last entries of all processes', () => {
    const troubles: unknown[] = []
    const writers = [0, 1, 2].map(() => new DeadLetters(directory, error => troubles.push(error), 2000))
    for (let n = 0; n < 300; n++) {
      writers[n % 3]?.write([letter(n)], new Date(0))
      for (const name of fs.readdirSync(directory)) {
        expect(fs.statSync(join(directory, name)).size).toBeLessThanOrEqual(2000)
      }
    }
    for (const writer of writers) writer.close()
    expect(fs.readdirSync(directory).sort()).toEqual(['rejected.1.ndjson', 'rejected.lock', 'rejected.ndjson'])
    const numbers = [...numbersIn(join(directory, 'rejected.1.ndjson')), ...numbersIn(path)]
    expect(numbers).toEqual(numbers.map((_, i) => 300 - numbers.length + i))
    expect(numbers.length).toBeGreaterThan(15)
    expect(troubles).toEqual([])
  })

  it('gets each entry, and only a full file becomes the previous one, if processes find it full at the same moment', async () => {
    const source = `
      import { statSync } from 'node:fs'
      import { DeadLetters } from '${new URL('../../src/spool/dead-letters.ts', import.meta.url)}'
      const older = ${JSON.stringify(join(directory, 'rejected.1.ndjson'))}
      const letter = { dataset: 'd', json: JSON.stringify({ pad: 'x'.repeat(60) }), status: 400, reason: 'bad' }
      const writer = new DeadLetters(${JSON.stringify(directory)}, error => console.log(String(error)), 2000)
      for (const endMs = Date.now() + 500; Date.now() < endMs; ) {
        if (writer.write([letter], new Date(0)) === 0) console.log('not written')
        const bytes = statSync(older, { throwIfNoEntry: false })?.size
        if (bytes < 1800) console.log(bytes + ' bytes')
      }`
    const ended = await Promise.all([0, 1, 2].map(() => runScript(source)))
    expect(ended.map(({ code, stdout }) => ({ code, stdout }))).toEqual(ended.map(() => ({ code: 0, stdout: '' })))
  })

  it('gets the events of an answer that fails thousands with a few calls of the file system', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.rejectEvents(() => true, 'no')
    const shipper = shipping.ship({ spool: { directory } })
    const builtin = process.getBuiltinModule('node:fs')
    const calls = (['lstatSync', 'fstatSync', 'writeSync'] as const).map(name => vi.spyOn(builtin, name))
    for (let n = 0; n < 5000; n++) shipper.ship({ n })
    await shipper.flush()
    const count = calls.reduce((sum, { mock }) => sum + mock.calls.length, 0)
    expect(numbersIn(path)).toEqual(Array.from({ length: 5000 }, (_, n) => n))
    expect(count).toBeLessThan(300)
  })

  it('has the letters whose lines a full disk took as a whole, and counts the others as not written', () => {
    const troubles: unknown[] = []
    const writer = new DeadLetters(directory, error => troubles.push(error))
    const write = vi.spyOn(process.getBuiltinModule('node:fs'), 'writeSync')
    const lineBytes = `${JSON.stringify({ time: new Date(0), dataset: 'd', status: 400, reason: 'bad' })}\n`.length + 80
    write.mockImplementationOnce((file, line) =>
      fs.writevSync(file, [(line as unknown as Buffer).subarray(0, 2.5 * lineBytes)]),
    )
    expect(writer.write([0, 1, 2, 3].map(letter), new Date(0))).toBe(2)
    write.mockRestore()
    expect(troubles).toMatchObject([{ code: 'ENOSPC' }])
    expect(writer.write([4, 5].map(letter), new Date(0))).toBe(2)
    writer.close()
    const lines = fs.readFileSync(path, 'utf8').trimEnd().split('\n')
    expect([0, 1, 3, 4].map(at => JSON.parse(lines[at] as string).event.n)).toEqual([0, 1, 4, 5])
    expect(lines).toHaveLength(5)
  })

  it('accepts an entry larger than the maximum of a file, alone', () => {
    const writer = new DeadLetters(directory, error => expect.unreachable(String(error)), 100)
    for (const n of [0, 1]) writer.write([letter(n)], new Date(0))
    writer.close()
    expect([numbersIn(join(directory, 'rejected.1.ndjson')), numbersIn(path)]).toEqual([[0], [1]])
  })

  it('keeps each letter on a line of its own after a full disk took only a part of one', () => {
    const troubles: unknown[] = []
    const writer = new DeadLetters(directory, error => troubles.push(error))
    writer.write([letter(0)], new Date(0))
    const write = vi.spyOn(process.getBuiltinModule('node:fs'), 'writeSync')
    write.mockImplementationOnce((file, line) => fs.writevSync(file, [(line as unknown as Buffer).subarray(0, 20)]))
    writer.write([letter(1)], new Date(0))
    write.mockRestore()
    expect(troubles).toMatchObject([{ code: 'ENOSPC' }])
    writer.write([letter(2)], new Date(0))
    writer.close()
    const lines = fs.readFileSync(path, 'utf8').trimEnd().split('\n')
    expect(lines).toHaveLength(3)
    expect([0, 2].map(at => JSON.parse(lines[at] as string).event.n)).toEqual([0, 2])
  })

  it.each([
    ['a link', () => fs.symlinkSync(join(directory, 'target'), path), 'ELOOP'],
    ['a pipe without a reader', () => mustRunSync('mkfifo', [path]), 'EPERM'],
    ['a directory', () => fs.mkdirSync(path), 'EISDIR'],
  ])('is not written if %s is in its place; one warning, until it can be written again', (_, put, code) => {
    fs.writeFileSync(join(directory, 'target'), '')
    put()
    const troubles: unknown[] = []
    const writer = new DeadLetters(directory, error => troubles.push((error as NodeJS.ErrnoException).code))
    for (const n of [0, 1, 2]) writer.write([letter(n)], new Date(0))
    expect(troubles).toEqual([code])
    expect(fs.readFileSync(join(directory, 'target'), 'utf8')).toBe('')
    fs.rmSync(path, { recursive: true })
    writer.write([letter(3)], new Date(0))
    expect(numbersIn(path)).toEqual([3])
    writer.close()
    fs.rmSync(path)
    fs.mkdirSync(path)
    writer.write([letter(4)], new Date(0))
    expect(troubles).toEqual([code, 'EISDIR'])
  })

  it.runIf(process.getuid?.() === 0)('is not written if it belongs to another user', () => {
    fs.writeFileSync(path, '')
    fs.chownSync(path, 12_345, 12_345)
    const troubles: unknown[] = []
    new DeadLetters(directory, error => troubles.push((error as NodeJS.ErrnoException).code)).write(
      [letter(0)],
      new Date(0),
    )
    expect(troubles).toEqual(['EPERM'])
    expect(fs.statSync(path).size).toBe(0)
  })

  it('is not written if it is a hard link to another file', () => {
    const target = join(directory, 'target')
    fs.writeFileSync(target, 'private')
    fs.linkSync(target, path)
    const troubles: unknown[] = []
    const writer = new DeadLetters(directory, error => troubles.push(error))
    writer.write([letter(0)], new Date(0))
    expect(troubles).toEqual([expect.objectContaining({ message: expect.stringMatching(/a second hard link/) })])
    expect(fs.readFileSync(target, 'utf8')).toBe('private')
    fs.unlinkSync(path)
    writer.write([letter(1)], new Date(0))
    fs.linkSync(path, join(directory, 'other')) // while the file is open
    writer.write([letter(2)], new Date(0))
    expect(numbersIn(path)).toEqual([1])
    writer.close()
  })

  it('is created again if `resend-rejected` takes it just after it was opened', () => {
    const writer = new DeadLetters(directory, error => expect.unreachable(String(error)))
    writer.write([letter(0)], new Date(0))
    writer.close()
    const builtin = process.getBuiltinModule('node:fs')
    const { openSync } = builtin
    const open = vi.spyOn(builtin, 'openSync').mockImplementationOnce((...given) => {
      const file = openSync(...given)
      fs.renameSync(path, join(directory, 'taken'))
      fs.linkSync(join(directory, 'taken'), join(directory, 'second'))
      return file
    })
    expect(writer.write([letter(1)], new Date(0))).toBe(1)
    open.mockRestore()
    writer.close()
    expect([numbersIn(join(directory, 'taken')), numbersIn(path)]).toEqual([[0], [1]])
  })

  it('is created again if it was removed while open', () => {
    const writer = new DeadLetters(directory, error => expect.unreachable(String(error)))
    writer.write([letter(0)], new Date(0))
    fs.unlinkSync(path)
    writer.write([letter(1)], new Date(0))
    writer.close()
    expect(numbersIn(path)).toEqual([1])
  })

  it('is created again if it was renamed while open, as by an editor that keeps a backup', () => {
    const writer = new DeadLetters(directory, error => expect.unreachable(String(error)))
    writer.write([letter(0)], new Date(0))
    fs.renameSync(path, join(directory, 'rejected.ndjson~'))
    writer.write([letter(1)], new Date(0))
    fs.renameSync(path, join(directory, 'rejected.ndjson.1'))
    fs.copyFileSync(join(directory, 'rejected.ndjson.1'), path)
    writer.write([letter(2)], new Date(0))
    writer.close()
    expect(numbersIn(path)).toEqual([1, 2])
    expect(numbersIn(join(directory, 'rejected.ndjson~'))).toEqual([0])
  })

  it('with a second name, as after `cp -al`, causes a warning that says to remove one', async () => {
    await using shipping = await startShipping()
    fs.writeFileSync(path, '')
    fs.linkSync(path, join(directory, 'backup'))
    shipping.emulator.faults.rejectEvents(() => true, 'no')
    const shipper = shipping.ship({ spool: { directory } })
    shipper.ship({ n: 0 })
    await shipper.flush()
    const messages = shipping.warnings.filter(({ code }) => code === 'LOGFERRY_SPOOL').map(({ message }) => message)
    expect(messages).toEqual([
      expect.stringMatching(/cannot be written \(.* second hard link.* Remove one of the links\.$/),
    ])
  })

  it('that cannot be written causes a warning, and shipping continues', async () => {
    await using shipping = await startShipping()
    fs.mkdirSync(path)
    shipping.emulator.faults.rejectEvents(({ n }) => n === 1, 'no')
    const shipper = shipping.ship({ spool: { directory } })
    for (const n of [0, 1, 2]) shipper.ship({ n })
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    await sleep(1)
    const messages = shipping.warnings.filter(({ code }) => code === 'LOGFERRY_SPOOL').map(({ message }) => message)
    expect(messages).toEqual([expect.stringMatching(/rejected\.ndjson .* cannot be written \(EISDIR\)/)])
    expect(shipper.stats().spool?.isInTrouble).toBe(false)
  })
})
