import { describe, expect, it } from 'vitest'
import { Credentials } from '../../src/http/credentials.ts'
import { quoted, toMessageLine, toPrintableLines, toShortLine } from '../../src/text/short-line.ts'
import { cpuMs } from '../support/cpu-ms.ts'
import { hostileText, unprintable } from '../support/hostile-text.ts'

const token = 'xaat-0123456789-do-not-show'
const redact = (text: string) => new Credentials(token).redact(text)

describe('a shown piece of text from outside', () => {
  it('is one short line of printable characters', () => {
    const shown = toShortLine(hostileText('the reason'))
    expect(shown).toMatch(/^the reason /)
    expect(shown.length).toBe(201)
    expect(shown).not.toMatch(unprintable)
    expect(shown).not.toContain('\n')
  })

  it.each([
    ['nothing', '', ''],
    ['spaces', ' \n\t ', ''],
    ['ordinary text', 'Größe überschritten: 5 > 3 — 見', 'Größe überschritten: 5 > 3 — 見'],
    ['lines', 'a\r\n  b', 'a b'],
    [
      'credentials in a URL',
      'no redis://user:pw@host:6379/0, http://a.b/c@d',
      'no redis://…@host:6379/0, http://a.b/c@d',
    ],
    ['a password with an @ in a URL', 'no redis://:p@ss@host:6379 (a@b)', 'no redis://…@host:6379 (a@b)'],
    ['a token as the password in a URL', `no redis://u:${'x'.repeat(2000)}@host`, 'no redis://…@host'],
    ['half a character', 'a\ud83d', 'a\ufffd'],
    ['exactly what is shown', 'x'.repeat(200), 'x'.repeat(200)],
    ['one more', 'x'.repeat(201), `${'x'.repeat(200)}…`],
    ['spaces up to where it is read, and more', `a${' '.repeat(5000)}b`, 'a…'],
  ])('%s', (_, text, shown) => {
    expect(toShortLine(text)).toBe(shown)
  })

  it('never ends in half a character', () => {
    for (const before of [199, 200, 4095]) expect(toShortLine(`${'x'.repeat(before)}😀😀`).isWellFormed()).toBe(true)
  })

  it('in quotation marks is JSON', () => {
    expect(quoted('a "b"\u202e')).toBe('"a \\"b\\""')
  })

  it.each(['', token, `${token} `, `\\u0078${token.slice(1)}`])(
    'never contains the beginning of a secret, wherever it is cut, or after many of %j',
    before => {
      const escaped = Array.from(token, char => `\\u00${char.charCodeAt(0).toString(16)}`).join('')
      for (const echo of [token, escaped, Buffer.from(token).toString('hex'), token.split('').join(' ')]) {
        for (let length = 0; length < 60; length++) {
          for (const end of [200, 4096]) {
            const times = before === '' ? 0 : Math.floor((end - length) / before.length)
            const text = 'z'.repeat(end - length - times * before.length) + before.repeat(times) + echo
            const shown = toShortLine(text, redact)
            expect(shown).not.toMatch(/xaat|u0078.u0061.u0061.u0074|78616174|x a a t/)
          }
        }
      }
    },
  )

  it.each(['0', '<', '<style', '&amp;', '\\', '%25', ' ', '\u200b', token, '<b', '😀'])(
    'is shortened quickly, however often it contains %j',
    piece => {
      const text = piece.repeat(1_000_000)
      let { length } = text
      const takenMs = cpuMs(() => {
        length = toMessageLine(text, redact).length
      })
      expect(length).toBeLessThan(2010)
      expect(takenMs).toBeLessThan(200)
    },
  )
})

describe('lines for a terminal', () => {
  it('keep line breaks and spaces, and no other unprintable character', () => {
    expect(toPrintableLines('a  b\n\u001b[31mc\r\u009b\u202e\u2028\td')).toBe('a  b\n [31mc     d')
  })
})
