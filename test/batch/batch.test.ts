import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import type { Severity } from '../../src/accounting/severity.ts'
import { Acknowledgement } from '../../src/batch/acknowledgements.ts'
import { Batch } from '../../src/batch/batch.ts'
import type { BatchStore, StoredBatch } from '../../src/batch/batch-store.ts'
import { blockSize } from '../../src/batch/line-buffer.ts'
import { MemoryBudget } from '../../src/batch/memory-budget.ts'
import { cpuMs } from '../support/cpu-ms.ts'
import { lineOf } from '../support/line-of.ts'
import { storedCopy } from './stored-copy.ts'

const KiB = 1024
const MiB = 1024 * KiB
const memory = () => new MemoryBudget(256 * MiB, MiB)
const open = (from = memory()) => Batch.open('d', blockSize(0, MiB), from) as Batch

/** A store that keeps everything written to it. */
const remembering: BatchStore = {
  isReady: true,
  open: () => undefined,
  write: (_, lines, severities) => storedCopy(Buffer.from(lines), Uint8Array.from(severities)),
}

describe('lines in a batch', () => {
  it('fills a batch to its last byte, and not beyond', () => {
    const batch = open()
    const line = JSON.stringify({ a: 'é'.repeat(500) })
    const lineBytes = Buffer.byteLength(line) + 1
    const limit = 10 * lineBytes
    for (let i = 0; i < 10; i++) expect(batch.append(2, lineOf(line), limit)).toBe(true)
    expect(batch.append(2, lineOf('{}'), limit)).toBe(false)
    expect(batch.byteLength).toBe(limit)
    expect(batch.count).toBe(10)
  })
})

describe('a batch', () => {
  it('starts small and grows without losing a byte', () => {
    const from = memory()
    const batch = open(from)
    expect(from.usedBytes).toBe(4 * KiB)
    const lines: string[] = []
    while (batch.append(2, lineOf(`{"n":${lines.length},"x":"${'y'.repeat(300)}"}`), MiB)) {
      lines.push(`{"n":${lines.length},"x":"${'y'.repeat(300)}"}`)
    }
    expect(from.usedBytes).toBe(MiB)
    expect([...batch.lines()]).toEqual(lines)
  })

  it('joins others in memory: their lines, callers and owners', () => {
    const from = memory()
    const settled: number[] = []
    const callers = [0, 1, 2].map(() => new Acknowledgement())
    const batches = callers.map((caller, n) => {
      const batch = open(from)
      for (const line of [0, 1]) batch.append((n + line) as Severity, lineOf(`{"n":${n}${line}}`), MiB, caller)
      batch.seal()
      batch.onSettled(() => settled.push(n))
      return batch
    })
    const [batch, ...others] = batches as [Batch, ...Batch[]]
    expect(batch.joinInMemory(others, MiB)).toBe(true)
    expect([...batch.lines()]).toEqual(['{"n":00}', '{"n":01}', '{"n":10}', '{"n":11}', '{"n":20}', '{"n":21}'])
    expect([...batch.severities]).toEqual([0, 1, 1, 2, 2, 3])
    expect(from.usedBytes).toBe(4 * KiB)
    expect(others.map(({ count, blockBytes }) => [count, blockBytes])).toEqual([
      [0, 0],
      [0, 0],
    ])
    const [first, rest] = batch.splitAt(9)
    first.settle()
    expect(callers.map(({ pending }) => pending)).toEqual([1, 2, 2])
    rest.settle(line => (line === 1 ? { reason: 'rejected', status: 400, serviceReason: 'bad' } : undefined))
    expect(callers.map(({ pending, lost }) => [pending, lost])).toEqual([
      [0, 0],
      [0, 1],
      [0, 0],
    ])
    expect(settled).toEqual([0, 1, 2])
    expect(from.usedBytes).toBe(0)
  })

  it('has a single owner if one caller waits for all lines of the batches that were joined', () => {
    const [caller, other] = [new Acknowledgement(), new Acknowledgement()]
    const filled = (by: Acknowledgement) => {
      const batch = open()
      batch.append(2, lineOf('{}'), MiB, by)
      return batch
    }
    const [batch, next, last] = [filled(caller), filled(caller), filled(other)]
    batch.joinInMemory([next], MiB)
    expect(batch.hasSingleOwner).toBe(true)
    batch.joinInMemory([last], MiB)
    expect(batch.hasSingleOwner).toBe(false)
  })

  it('may join another in memory unless the store has lines of one of them only, or one was split or sent', () => {
    const copied = (isComplete = true) => {
      const copy = () => storedCopy(Buffer.from('{}\n'), Uint8Array.of(2), { isComplete })
      return Batch.open('d', blockSize(0, MiB), memory(), copy) as Batch
    }
    const filled = (batch: Batch) => {
      for (const line of ['{}', '{}']) batch.append(2, lineOf(line), MiB)
      return batch
    }
    const sent = filled(open())
    sent.attempts.begin(0, 0)
    const [part] = filled(open()).split()
    const mayJoin = (one: Batch, other: Batch) => [one.mayJoin(other), other.mayJoin(one)]
    expect(mayJoin(filled(open()), filled(open()))).toEqual([true, true])
    expect(mayJoin(filled(copied()), filled(copied()))).toEqual([true, true])
    for (const other of [filled(copied()), filled(copied(false)), sent, part]) {
      expect(mayJoin(filled(open()), other)).toEqual([false, false])
    }
    expect(mayJoin(filled(copied()), filled(copied(false)))).toEqual([false, false])
  })

  it('joins 20,000 batches that the store has, too, without holding up the event loop for long', () => {
    const from = new MemoryBudget(256 * MiB, MiB)
    const copy = () => storedCopy(Buffer.from('{}\n'), Uint8Array.of(2), { isComplete: true })
    const [batch, ...others] = Array.from({ length: 20_000 }, () => {
      const one = Batch.open('d', 4 * KiB, from, copy) as Batch
      one.append(2, lineOf('{}'), MiB)
      return one
    }) as [Batch, ...Batch[]]
    expect(cpuMs(() => batch.joinInMemory(others, MiB))).toBeLessThan(2000)
    expect(batch.count).toBe(20_000)
  })

  it('joins others while memory is full, and takes no more of it', () => {
    const from = new MemoryBudget(5 * 4 * KiB, MiB)
    const [batch, ...others] = Array.from({ length: 5 }, () => open(from)) as [Batch, ...Batch[]]
    for (const one of [batch, ...others]) {
      while (one.append(2, lineOf('x'.repeat(900)), 4 * KiB));
    }
    const count = 5 * batch.count
    expect(from.usedBytes).toBe(from.maxBytes)
    expect(batch.joinInMemory(others, MiB)).toBe(true)
    expect([batch.count, [...batch.lines()].length]).toEqual([count, count])
    expect(from.usedBytes).toBeLessThanOrEqual(from.maxBytes)
    batch.settle()
    expect(from.usedBytes).toBe(0)
  })

  it('frees its memory and tells its owner once, when its last part is settled', () => {
    const from = memory()
    const batch = open(from)
    for (let i = 0; i < 4; i++) batch.append(2, lineOf('{}'), MiB)
    let settled = 0
    batch.onSettled(() => settled++)
    const [left, right] = batch.split()
    const [first, second] = left.split()
    first.settle()
    right.settle()
    expect([settled, from.usedBytes]).toEqual([0, 4 * KiB])
    second.settle()
    expect([settled, from.usedBytes]).toEqual([1, 0])
  })

  it('tells each caller the fate of the lines that the caller follows, however batches are split and joined', () => {
    const fates = [new Acknowledgement(), new Acknowledgement(), new Acknowledgement()] as const
    const filled = (...followers: (Acknowledgement | undefined)[]) => {
      const batch = open()
      for (const fate of followers) {
        batch.append(2, lineOf('{}'), MiB, fate)
      }
      return batch
    }
    const [one, two, three] = fates
    const batch = filled(one, two)
    const other = filled(two, undefined, three, three)
    for (const stored of [batch, other]) stored.moveTo(remembering)
    batch.join(other)
    batch.reloadNow(MiB)
    const [left, right] = batch.split()
    expect([left.hasSingleOwner, right.hasSingleOwner]).toEqual([false, false])
    left.settle(line => (line === 1 ? { reason: 'rejected', status: undefined, serviceReason: undefined } : undefined))
    expect(fates.map(({ pending, lost }) => [pending, lost])).toEqual([
      [0, 0],
      [0, 1],
      [2, 0],
    ])
    const [first, last] = right.split()
    expect([first.hasSingleOwner, last.hasSingleOwner]).toEqual([false, true])
    first.settle(() => ({ reason: 'rejected', status: undefined, serviceReason: undefined }))
    last.settle()
    expect([three.pending, three.lost]).toEqual([0, 0])
  })

  it('keeps lines and severities in order when it is split at a newline', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.json(), fc.integer({ min: 0, max: 5 })), { minLength: 2, maxLength: 80 }),
        lines => {
          const batch = open()
          for (const [json, severity] of lines) batch.append(severity as 0, lineOf(`{"v":${json}}`), MiB)
          const [left, right] = batch.split()
          expect(left.count + right.count).toBe(batch.count)
          expect(Buffer.concat([left.bytes, right.bytes]).equals(batch.bytes)).toBe(true)
          expect([...left.lines(), ...right.lines()]).toEqual(lines.map(([json]) => `{"v":${json}}`))
          expect([...left.severities, ...right.severities]).toEqual(lines.map(([, severity]) => severity))
        },
      ),
    )
  })
})

describe('memory', () => {
  it('refuses an allocation that would exceed the budget', () => {
    const from = new MemoryBudget(128 * KiB, MiB)
    expect(from.allocate(64 * KiB)).toBeDefined()
    expect(from.allocate(64 * KiB)).toBeDefined()
    expect(from.allocate(1)).toBeUndefined()
  })

  it('accepts only warnings and errors, then only errors, as it fills', () => {
    const from = new MemoryBudget(100, 100)
    const floors = [0, 75, 15, 5].map(more => {
      from.charge(more)
      return from.minSeverity
    })
    expect(floors).toEqual([0, 2, 3, 4])
    from.discharge(95)
    expect(from.minSeverity).toBe(0)
  })

  it('reuses freed blocks by size, until blocks of other sizes need their memory: the size freed longest ago goes first', () => {
    const from = new MemoryBudget(12 * MiB, MiB)
    const taken = (sizes: readonly number[]) => sizes.map(size => from.allocate(size) as Buffer)
    const blocks = taken([8 * KiB, MiB, 4 * MiB, 3 * MiB, 2 * MiB])
    for (const block of blocks) from.free(block)
    const again = taken([2 * MiB, 4 * MiB, MiB])
    expect(again.map(block => blocks.indexOf(block))).toEqual([4, 2, 1])
    for (const block of again) from.free(block)
    from.free(from.allocate(8 * MiB) as Buffer) // beside it, 4 MiB have room
    const last = taken([MiB, 2 * MiB, 3 * MiB, 4 * MiB])
    expect(last.map(block => blocks.indexOf(block))).toEqual([1, -1, -1, -1])
    expect(from.usedBytes).toBe(10 * MiB)
  })

  it('grows blocks fourfold up to the maximum of a batch', () => {
    const sizes = [1, 4 * KiB, 4 * KiB + 1, 50 * KiB, 200 * KiB, 2 * MiB].map(size => blockSize(size, MiB))
    expect(sizes).toEqual([4 * KiB, 4 * KiB, 16 * KiB, 64 * KiB, 256 * KiB, MiB])
  })
})

describe('a batch with all lines in the store', () => {
  const store = (copies: readonly unknown[]): BatchStore => {
    const left = [...copies] as (StoredBatch | undefined)[]
    return { isReady: true, open: () => undefined, write: () => left.shift() }
  }
  const copy = (count = 2) => {
    const mocks = { handOff: vi.fn(), remove: vi.fn() }
    return { ...storedCopy(Buffer.alloc(0), new Uint8Array(count)), ...mocks }
  }
  const splitWith = (whole: StoredBatch, lines = 2) => {
    const batch = Batch.open('d', blockSize(100, MiB), memory(), () => whole) as Batch
    for (let n = 1; n <= lines; n++) batch.append(2, lineOf(`{"n":${n}}`), MiB)
    return batch.split()
  }

  const calls = (...mocks: { readonly mock: { readonly calls: unknown[] } }[]) =>
    mocks.map(({ mock }) => mock.calls.length)

  it('is handed off as a whole after a split if no part is settled, without another copy', () => {
    const [whole, unneeded] = [copy(), copy()]
    const [first, second] = splitWith(whole)
    const to = store([unneeded, unneeded])
    expect([first.handOffTo(to), second.handOffTo(to)]).toEqual([1, 1])
    expect(calls(whole.handOff, whole.remove, unneeded.handOff)).toEqual([1, 0, 0])
  })

  it('is handed off part by part if a part is delivered, and the original is removed with the last part', () => {
    const [whole, one, other] = [copy(), copy(), copy()]
    const [first, last] = splitWith(whole, 3)
    const [second, third] = last.split()
    first.settle()
    const to = store([one, other])
    expect([second.handOffTo(to), calls(whole.remove), third.handOffTo(to)]).toEqual([1, [0], 1])
    expect(calls(one.handOff, other.handOff, whole.remove, whole.handOff)).toEqual([1, 1, 1, 0])
  })

  it('is handed off as a whole if a part is delivered and the store has no room for the others', () => {
    const whole = copy()
    const [first, second] = splitWith(whole)
    first.settle()
    expect(second.handOffTo(store([]))).toBe(2) // the delivered part is handed off again
    expect(calls(whole.handOff, whole.remove)).toEqual([1, 0])
  })

  it('takes back the copies of parts if it is handed off as a whole after all, so that no line is there twice', () => {
    const [whole, one] = [copy(), copy(1)]
    const [first, last] = splitWith(whole, 3)
    const [second, third] = last.split()
    first.settle()
    expect([second.handOffTo(store([one])), third.handOffTo(store([]))]).toEqual([1, 2])
    expect(calls(one.handOff, one.remove, whole.handOff, whole.remove)).toEqual([1, 1, 1, 0])
  })

  it('is handed off once, even if the store has room for another part again', () => {
    const [whole, late] = [copy(), copy()]
    const [first, last] = splitWith(whole, 3)
    const [second, third] = last.split()
    first.settle()
    const to = store([undefined, late])
    expect([second.handOffTo(to), third.handOffTo(to)]).toEqual([2, 1])
    expect(calls(whole.handOff, late.handOff)).toEqual([1, 0])
  })
})

it('a batch that was joined from two, of which the store has lost the first, keeps its lines if the store takes nothing', () => {
  const handOff = vi.fn()
  const from = memory()
  const stored = (n: number, exists: boolean) => {
    const lines = Buffer.from(`{"n":${n}}\n`)
    const copy = storedCopy(lines, Uint8Array.of(2), { exists, handOff })
    return Batch.stored('d', Uint8Array.of(2), lines.length, copy, from)
  }
  const batch = stored(1, false)
  batch.join(stored(2, true))
  batch.reloadNow(MiB)
  expect(batch.handOffTo({ ...remembering, write: () => undefined })).toBe(undefined)
  expect([...batch.lines()]).toEqual(['{"n":1}', '{"n":2}'])
  expect(handOff).not.toHaveBeenCalled()
})

it('a batch that the store has only a part of hands that part off and keeps the rest', () => {
  const some = {
    order: '1',
    isComplete: false,
    exists: true,
    isOpen: false,
    hasVanished: false,
    isUnreadable: false,
    count: 2,
    append() {},
    extend: () => false,
    seal() {},
    read: vi.fn(),
    readNow: vi.fn(),
    handOff: vi.fn(),
    remove: vi.fn(),
  }
  const batch = Batch.open('d', blockSize(100, MiB), memory(), () => some) as Batch
  for (const n of [1, 2, 3]) batch.append(n === 3 ? 4 : 2, lineOf(`{"n":${n}}`), MiB)
  const left = batch.handOffTo({ isReady: true, open: () => undefined, write: () => undefined })
  expect([left, batch.count, [...batch.lines()], batch.bySeverity]).toEqual([undefined, 1, ['{"n":3}'], { error: 1 }])
  batch.settle()
  expect([some.handOff, some.remove].map(({ mock }) => mock.calls.length)).toEqual([1, 0])
})
