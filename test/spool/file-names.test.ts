import { describe, expect, it } from 'vitest'
import {
  destinationIn,
  directoryName,
  isDeadLettersName,
  isDirectoryName,
  isFor,
  isSegmentName,
  isSocketName,
  lockName,
  nameOfDestination,
  segmentName,
  socketName,
  withoutDestination,
} from '../../src/spool/file-names.ts'

const destination = 'https://logs.example.com/#acme'
const at = (second: number): Date => new Date(Date.UTC(2026, 10, 21, 10, 41, second))
const directoryAt = (second: number): string => directoryName(at(second), '4f2a9c1b', nameOfDestination(destination))

describe('the names in a spool', () => {
  it('are those that published versions write', () => {
    expect(segmentName(1)).toBe('000000000001.segment')
    expect(socketName('5e0c77d1')).toBe('5e0c77d1.alive')
    expect(directoryAt(3)).toBe('20261121T104103Z-4f2a9c1b-https%3a%2f%2flogs.example.com%2f%23acme')
    expect(['rejected.ndjson', 'rejected.1.ndjson'].every(isDeadLettersName)).toBe(true)
    expect(lockName).toBe('lock')
  })

  it('are each recognized as what they are, and as nothing else', () => {
    const names = [segmentName(1), socketName('5e0c77d1'), directoryAt(3), 'rejected.ndjson', lockName]
    expect(names.map(isSegmentName)).toEqual([true, false, false, false, false])
    expect(names.map(isSocketName)).toEqual([false, true, false, false, false])
    expect(names.map(isDirectoryName)).toEqual([false, false, true, false, false])
    expect(names.map(isDeadLettersName)).toEqual([false, false, false, true, false])
  })

  it('sort by age', () => {
    expect([10, 9, 1].map(segmentName).sort()).toEqual([1, 9, 10].map(segmentName))
    expect([10, 9, 1].map(directoryAt).sort()).toEqual([1, 9, 10].map(directoryAt))
  })
})

describe('the name of a directory', () => {
  it.each([8.64e15, 253_402_300_800_000, -1, -8.64e15, Number.NaN])('is one whatever the clock says: %d', ms => {
    expect(directoryName(new Date(ms), '4f2a9c1b', nameOfDestination(destination))).toSatisfy(isDirectoryName)
  })

  it('has the destination, which comes back as it was', () => {
    expect(destinationIn(directoryAt(3))).toBe(destination)
    expect(isFor(nameOfDestination(destination), directoryAt(3))).toBe(true)
    expect(isFor(nameOfDestination('https://other.example/'), directoryAt(3))).toBe(false)
    expect(withoutDestination(directoryAt(3))).toBe('20261121T104103Z-4f2a9c1b')
  })

  it('has a hash of a destination that is too long for a file system', () => {
    const long = nameOfDestination(`https://logs.example.com/${'path/'.repeat(50)}`)
    expect(long).toMatch(/^[0-9a-f]{64}$/)
    expect(isFor(long, directoryName(at(3), '4f2a9c1b', long))).toBe(true)
  })

  it('fits any destination if it has none, as in older versions', () => {
    expect(isFor(nameOfDestination(destination), '20200101T000000Z-00000001')).toBe(true)
    expect(destinationIn('20200101T000000Z-00000001')).toBeUndefined()
  })
})
