/** The parts of `logferry pipe`: the lines of common loggers, the cuts between lines, and the command line. */
import { describe, expect, it } from 'vitest'
import { severities } from '../src/accounting/severity.ts'
import { Misuse } from '../src/cli/command.ts'
import { LineSplitter } from '../src/cli/pipe/line-splitter.ts'
import { pipeOptionsOf } from '../src/cli/pipe/pipe-options.ts'
import { severityOf } from '../src/cli/pipe/severity-of.ts'
import { timeOf } from '../src/cli/pipe/time-of.ts'

const at = 1_763_833_837 // 2025-11-22T17:50:37Z

describe('the time and the level of a line', () => {
  it.each([
    ['Pino', '{"level":30,"time":1763833837123,"pid":1,"msg":"m"}', 123_000_000, 'info'],
    ['Bunyan', '{"name":"a","level":50,"time":"2025-11-22T17:50:37.123Z","v":0}', 123_000_000, 'error'],
    ['Winston', '{"level":"warn","message":"m","timestamp":"2025-11-22T17:50:37.123Z"}', 123_000_000, 'warn'],
    ['zap', '{"level":"dpanic","ts":1763833837.1234567,"msg":"m"}', 123_457_000, 'fatal'],
    ['slog', '{"time":"2025-11-22T18:50:37.123456789+01:00","level":"ERROR+1","msg":"m"}', 123_456_789, 'error'],
    ['zerolog', '{"level":"debug","time":"2025-11-22T17:50:37Z","message":"m"}', 0, 'debug'],
    ['logrus', '{"level":"warning","msg":"m","time":"2025-11-22T15:50:37-02:00"}', 0, 'warn'],
    [
      'python-json-logger',
      '{"levelname":"CRITICAL","timestamp":"2025-11-22T17:50:37.123456+00:00"}',
      123_456_000,
      'fatal',
    ],
    ['structlog', '{"event":"m","level":"info","timestamp":"2025-11-22T17:50:37.123456Z"}', 123_456_000, 'info'],
    ['ECS', '{"@timestamp":"2025-11-22T17:50:37.123Z","log.level":"WARN","message":"m"}', 123_000_000, 'warn'],
    ['ECS, nested', '{"@timestamp":"2025-11-22T17:50:37.123Z","log":{"level":"error"}}', 123_000_000, 'error'],
    ['Serilog', '{"@t":"2025-11-22T17:50:37.1234567Z","@mt":"m","@l":"Fatal"}', 123_456_700, 'fatal'],
    ['Log4j', '{"instant":{"epochSecond":1763833837,"nanoOfSecond":123456789},"level":"TRACE"}', 123_456_789, 'trace'],
    ['java.util.logging', '{"level":"SEVERE","timestamp":"2025-11-22T17:50:37.1Z"}', 100_000_000, 'error'],
    ['tracing', '{"timestamp":"2025-11-22T17:50:37.123456Z","level":"TRACE"}', 123_456_000, 'trace'],
    [
      'Monolog',
      '{"level":400,"level_name":"ERROR","datetime":"2025-11-22T17:50:37.123456+00:00"}',
      123_456_000,
      'error',
    ],
    ['Google Cloud', '{"severity":"NOTICE","time":"2025-11-22T17:50:37.123Z"}', 123_000_000, 'info'],
    ['GELF', '{"version":"1.1","level":4,"timestamp":1763833837.123}', 123_000_000, 'warn'],
    ['journald', '{"PRIORITY":"3","__REALTIME_TIMESTAMP":"1763833837123456"}', 123_456_000, 'error'],
    ['OpenTelemetry', '{"severityNumber":17,"timestamp":"1763833837123456789"}', 123_456_789, 'error'],
    ['Postgres', '{"timestamp":"2025-11-22 17:50:37.123 UTC","error_severity":"LOG"}', 123_000_000, undefined],
  ])('are found as %s writes them', (_, line, nanoseconds, severity) => {
    const event = JSON.parse(line)
    expect(timeOf(event)).toEqual([at, nanoseconds])
    const found = severityOf(event)
    expect(found === undefined ? undefined : severities[found]).toBe(severity)
  })

  it.each([
    ['a duration', { time: 0.25 }],
    ['a count', { ts: 42 }],
    ['an identifier', { timestamp: 90_000_000_000_000_000_000 }],
    ['a time of day', { time: '17:50:37' }],
    ['a local time, whose zone is unknown', { timestamp: '2025-11-22T17:50:37.123' }],
    ['a local time of Python', { time: '2025-11-22 17:50:37,123' }],
    ['no date', { time: '2025-13-45T17:50:37Z' }],
    ['a long text', { time: `2025-11-22T17:50:37.${'1'.repeat(100_000)}Z` }],
    ['other types', { '@timestamp': null, timestamp: true, time: [], ts: {}, instant: { epochSecond: 'x' } }],
    ['nanoseconds out of range', { instant: { epochSecond: at, nanoOfSecond: 1e9 } }],
  ])('is not read from %s', (_, event) => {
    expect(timeOf(event)).toBeUndefined()
  })

  it('is read from the next field if one holds no time', () => {
    expect(timeOf({ timestamp: 'soon', time: at })).toEqual([at, 0])
    expect(timeOf({ time: at, at: at + 1 }, 'at')).toEqual([at + 1, 0])
    expect(timeOf({ time: at }, 'at')).toBeUndefined()
  })

  it('is rounded to the next second where that is nearest', () => {
    expect(timeOf({ ts: at + 0.9999999 })).toEqual([at + 1, 0])
  })
})

describe('an invalid option', () => {
  it.each([
    [{ field: ['novalue'] }, "--field must be name=value, with a name of 1 to 200 characters, not 'novalue'"],
    [{ field: ['=x'] }, "--field must be name=value, with a name of 1 to 200 characters, not '=x'"],
    [{ field: ['_time=x'] }, '--field must not be _time, the time of the event'],
    [{ field: ['a=1', 'a=2'] }, '--field must name each field once, and names "a" twice'],
    [
      { field: [`a=${'x'.repeat(70_000)}`] },
      '--field must take at most 65536 bytes for all fields together, not 70004',
    ],
    [{ 'time-field': '' }, '--time-field must not be empty'],
    [{ 'redact-text': ['('] }, '--redact-text must be a regular expression. Invalid regular expression: '],
    [{ 'buffer-bytes': '1k' }, "--buffer-bytes must be a number of bytes from 8388608 to 1000000000000000, not '1k'"],
    [{ durability: 'disk' }, '--durability disk needs --spool'],
    [{ 'spool-max-bytes': '16777216' }, '--spool-max-bytes needs --spool'],
    [{ spool: 's', 'spool-max-bytes': '16777216' }, '--spool-max-bytes must be at least 2 × --buffer-bytes (67108864)'],
    [{ spool: 's', 'buffer-bytes': '999999999' }, '--spool-max-bytes must be at least 2 × --buffer-bytes (1999999998)'],
    [{ 'read-on': '-1' }, "--read-on must be a number of seconds from 0 to 1000000, not '-1'"],
    [{ timeout: '1m' }, "--timeout must be a number of seconds from 0 to 1000000, not '1m'"],
  ])('%j is refused with what is expected', (given, problem) => {
    expect(() => pipeOptionsOf(given)).toThrow(problem)
    expect(() => pipeOptionsOf(given)).toThrow(Misuse)
  })
})

describe('LineSplitter', () => {
  it('returns the same lines however the bytes are cut', () => {
    const bytes = Buffer.from('one\ntwo \u2603\r\n\n\ud83d\ude00 three\nlast')
    for (let first = 0; first <= bytes.length; first++) {
      for (let second = first; second <= bytes.length; second++) {
        const splitter = new LineSplitter(100)
        const pieces = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)]
        const texts = [...pieces.flatMap(piece => splitter.push(piece)), ...splitter.end()]
        expect(texts.join('')).toBe(bytes.toString())
        for (const text of texts.slice(0, -1)) expect(text.endsWith('\n')).toBe(true)
      }
    }
  })

  it('keeps the beginning of lines that are too long, and counts them', () => {
    const splitter = new LineSplitter(5)
    const pieces = ['123', '4567', '89\nab', '\n12345', '\n1234', '56', '7']
    const texts = pieces.flatMap(piece => splitter.push(Buffer.from(piece)))
    expect([...texts, ...splitter.end()]).toEqual(['12345\n', 'ab\n', '12345\n', '12345'])
    expect(splitter.tooLong).toBe(2)
  })
})
