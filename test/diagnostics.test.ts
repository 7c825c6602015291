import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Diagnostics, type Warning } from '../src/accounting/diagnostics.ts'
import { Credentials } from '../src/http/credentials.ts'
import { hostileText, unprintable } from './support/hostile-text.ts'

vi.mock('../src/time.ts', () => import('./support/time-of-globals.ts'))

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('a warning', () => {
  it('is one printable line of bounded length without secrets, whatever its text', () => {
    const token = 'xaat-0123456789-do-not-show'
    const credentials = new Credentials(token)
    const diagnostics = new Diagnostics(text => credentials.redact(text))
    const warnings: Warning[] = []
    diagnostics.add('warning', warning => warnings.push(warning))
    diagnostics.warn('LOGFERRY_LIMITS', `the service says ${hostileText('no', ` ${token} `)}`, hostileText('about'))
    const message = warnings[0]?.message ?? ''
    expect(message).toMatch(/^logferry: the service says no .* \[token\] .*x…$/)
    expect(message.length).toBeLessThan(2010)
    expect(message).not.toMatch(unprintable)
  })

  it('is one of at most 200 of its code in a minute, and many subjects do not end the silence of others', () => {
    const diagnostics = new Diagnostics()
    const warnings: Warning[] = []
    diagnostics.add('warning', warning => warnings.push(warning))
    diagnostics.warn('LOGFERRY_PAUSED', 'once', 'd')
    for (let n = 0; n < 6000; n++) diagnostics.warn('LOGFERRY_FIELDS', `for dataset ${n % 3000}`, `${n % 3000}`)
    diagnostics.warn('LOGFERRY_PAUSED', 'once', 'd')
    expect(warnings.filter(({ code }) => code === 'LOGFERRY_FIELDS')).toHaveLength(200)
    expect(warnings.filter(({ code }) => code === 'LOGFERRY_PAUSED')).toHaveLength(1)
  })

  it('tells how many were suppressed since the last one of its subject, also those beyond 200 of its code', () => {
    const diagnostics = new Diagnostics()
    const warnings: Warning[] = []
    diagnostics.add('warning', warning => warnings.push(warning))
    const warn = (subject: string) => diagnostics.warn('LOGFERRY_FIELDS', subject, subject)
    for (let n = 0; n < 3; n++) warn('d')
    vi.advanceTimersByTime(60_000)
    for (let n = 0; n < 200; n++) warn(`${n}`)
    warn('d')
    vi.advanceTimersByTime(60_000)
    warn('d')
    const ofSubject = warnings.filter(({ message }) => message.endsWith('d'))
    expect(ofSubject.map(({ suppressed }) => suppressed)).toEqual([0, 3])
  })
})
