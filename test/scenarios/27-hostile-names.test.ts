import { LoggerProvider } from '@opentelemetry/sdk-logs'
import { describe, expect, it } from 'vitest'
import winston from 'winston'
import { LogferryLogRecordProcessor } from '../../src/otel.ts'
import { LogferryTransport } from '../../src/winston.ts'
import { emulated } from '../support/emulated.ts'

/** Each name has a value of its own, by which its field is found wherever it lands. */
const names = [
  '__proto__.polluted',
  'a.__proto__.polluted',
  'constructor.prototype.polluted',
  '__proto__',
  'prototype',
  'toString.call',
  'hasOwnProperty',
  Array(10_000).fill('a').join('.'),
  '.',
  '..',
  'a..b.',
  '',
  'x'.repeat(1_000_000),
  '\u0000',
  '\ud800',
  '"\\\n',
]

const valueNumbered = (index: number) => `value-${index}-`

describe.concurrent('scenario 27: hostile names of attributes and metadata', () => {
  it('touch no prototype, overflow no stack, and each value can be found: through OpenTelemetry', async () => {
    await using scene = await emulated()
    const provider = new LoggerProvider({
      processors: [new LogferryLogRecordProcessor({ shipper: scene.logs.shipper })],
    })
    // The SDK itself loses attributes with these two names.
    const known = names
      .map((name, index) => [name, index] as const)
      .filter(([name]) => !['__proto__', ''].includes(name))
    scene.logs.alsoLogged(known.length)
    for (const [name, index] of known) {
      provider
        .getLogger('demo')
        .emit({ body: 'm', attributes: JSON.parse(`{${JSON.stringify(name)}:"${valueNumbered(index)}"}`) })
    }
    expect(await scene.logs.flush()).toEqual({ complete: true, pending: 0 })
    expectFound(
      scene.emulator.lines('d'),
      known.map(([, index]) => index),
    )
  })

  it('touch no prototype, overflow no stack, and each value can be found: through Winston, nested and not', async () => {
    await using scene = await emulated()
    const logger = winston.createLogger({ transports: [new LogferryTransport({ shipper: scene.logs.shipper })] })
    scene.logs.alsoLogged(2 * names.length)
    for (const [index, name] of names.entries()) {
      logger.info('m', { holder: JSON.parse(`{${JSON.stringify(name)}:"${valueNumbered(index)}"}`) })
      logger.info('m', JSON.parse(`{${JSON.stringify(name)}:"${valueNumbered(index)}"}`))
    }
    expect(await scene.logs.flush()).toEqual({ complete: true, pending: 0 })
    expectFound(scene.emulator.lines('d'), [...names.keys()])
  })
})

function expectFound(lines: readonly string[], indices: readonly number[]): void {
  const text = lines.join('\n')
  for (const index of indices) {
    // An event whose name alone exceeds the maximum size is cut, and marked as cut.
    const isTooLong = (names[index] as string).length >= 1_000_000
    expect(text, `the value of name ${index}`).toContain(isTooLong ? '"cut":true' : valueNumbered(index))
  }
  for (const line of lines) expect(() => JSON.parse(line)).not.toThrow()
  expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  expect(Object.keys(Object.prototype)).toEqual([])
  expect(Object.prototype.toString.call).toBe(Function.prototype.call)
}
