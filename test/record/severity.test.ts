import { expect, test } from 'vitest'
import { severities, severityOfLevel, severityOfNumber } from '../../src/accounting/severity.ts'

test.each([
  ['silly', 'trace'],
  ['debug', 'debug'],
  ['verbose', 'debug'],
  ['info', 'info'],
  ['notice', 'info'],
  ['warn', 'warn'],
  ['WARNING', 'warn'],
  ['Error', 'error'],
  ['crit', 'fatal'],
  ['emerg', 'fatal'],
  ['of my own', 'info'],
  ['__proto__', 'info'],
  ['constructor', 'info'],
  [undefined, 'info'],
  [{}, 'info'],
])('level %s is of class %s', (level, name) => expect(severities[severityOfLevel(level)]).toBe(name))

test.each([
  [1, 'trace'],
  [4, 'trace'],
  [5, 'debug'],
  [9, 'info'],
  [16, 'warn'],
  [17, 'error'],
  [24, 'fatal'],
  [0, 'info'],
  [25, 'info'],
  [Number.NaN, 'info'],
  [undefined, 'info'],
])('severity number %s is of class %s', (number, name) => expect(severities[severityOfNumber(number)]).toBe(name))
