import { describe, expect, it } from 'vitest'
import { Credentials } from '../../src/http/credentials.ts'
import { cpuMs } from '../support/cpu-ms.ts'

const token = 'xa/t-0+1=2&3"4%41'
const credentials = new Credentials(token)
const json = (text: string) => JSON.stringify(text).slice(1, -1)
const each = (by: (character: string) => string) => Array.from(token, by).join('')
const hexOf = (character: string) => character.charCodeAt(0).toString(16)
const hexDigits = Array.from(Buffer.from(token), byte => byte.toString(16))
const html = (text: string) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('+', '&#43;')

describe('a text that repeats the token', () => {
  it.each([
    ['as it is', token],
    ['twice', `${token} or ${token}`],
    ['in JSON', json(token)],
    ['in JSON with escaped slashes', json(token).replaceAll('/', '\\/')],
    ['in JSON in JSON', json(json(token).replaceAll('/', '\\/'))],
    ['in JSON that escapes each character', each(character => `\\u00${hexOf(character)}`)],
    ['in JSON with capital digits', token.replaceAll('+', '\\u002B')],
    ['in JSON in JSON that escapes some', json(token.replaceAll(/[+&=]/g, found => `\\u00${hexOf(found)}`))],
    ['in a source text', each(character => `\\x${hexOf(character)}`)],
    ['in HTML', html(token)],
    ['in HTML, twice', html(html(token))],
    ['in HTML by hexadecimal numbers', each(character => `&#x${hexOf(character)};`)],
    ['in HTML by decimal numbers with zeros', each(character => `&#0${character.charCodeAt(0)};`)],
    ['in HTML by names', token.replaceAll('&', '&amp;').replaceAll('/', '&sol;').replaceAll('=', '&equals;')],
    ['in a URL', encodeURIComponent(token)],
    ['in a URL in a URL', encodeURIComponent(encodeURIComponent(token))],
    ['in a URL in HTML in JSON', json(html(encodeURIComponent(token)))],
    ['in capital letters', token.toUpperCase()],
    ['in capital letters in a URL', encodeURIComponent(token).toUpperCase()],
    ['in hexadecimal digits', Buffer.from(token).toString('hex')],
    ['in capital hexadecimal digits', Buffer.from(token).toString('hex').toUpperCase()],
    ['on two lines', `${token.slice(0, 9)}\r\n   ${token.slice(9)}`],
    ['on two lines in JSON', `${token.slice(0, 5)}\\n${token.slice(5)}`],
    ['with a space after each character', each(character => `${character} `).trim()],
    ['in hexadecimal digits with colons', hexDigits.join(':')],
    ['in hexadecimal digits with spaces', hexDigits.join(' ')],
    ['as a list of bytes', [...Buffer.from(token)].join(', ')],
    ['in JavaScript with code points', each(character => `\\u{${hexOf(character)}}`)],
    ['in JSON with what cannot be seen', [...token].map(json).join('\\u200b')],
    ['in HTML with what cannot be seen', [...token].map(html).join('&#x200b;&ZeroWidthSpace;')],
    ['in a URL with what cannot be seen', [...token].map(encodeURIComponent).join('%E2%80%8B%25E2%2580%258B')],
    ['with what cannot be seen in it', each(character => `\u200b${character}\u00ad`).slice(1, -1)],
    ['with tags in it', `${token.slice(0, 5)}<wbr>${token.slice(5, 8)}</b> <i class="x">${token.slice(8)}`],
    ['with tags in it in JSON', `${token.slice(0, 5)}<\\/b>${token.slice(5)}`],
    [
      'with tags in it in HTML in hexadecimal digits',
      `78612f<b>&lt;i&gt;${Buffer.from(token).toString('hex').slice(6)}`,
    ],
  ])('%s, is shown without it', (_, repeated) => {
    const shown = credentials.redact(`no \\ 5% & ${repeated} C:\\dir &c; 100%`)
    expect(shown.replaceAll('[token]', '?')).toMatch(/^no \\ 5% & \?( or \?)? C:\\dir &c; 100%$/)
  })

  it('as Node prints a Buffer, is shown without it', () => {
    expect(credentials.redact(`got <Buffer ${hexDigits.join(' ')}>`)).toBe('got <Buffer [token]>')
  })

  it.each([token, `Bearer ${token}`, `user:${token}`, `me ${token} `])('in base64 as %s, is shown without it', text => {
    for (const encoding of ['base64', 'base64url'] as const) {
      const encoded = Buffer.from(text).toString(encoding)
      expect(credentials.redact(`got ${encoded}!`)).toMatch(/^got .{0,12}\[token\].{0,4}!$/)
    }
  })

  it('that ends within the token, is shown without its beginning', () => {
    for (let length = 4; length < token.length; length++) {
      expect(credentials.redact(`no ${token.slice(0, length)}`)).toBe('no [token]')
      const digits = Buffer.from(token)
        .toString('hex')
        .slice(0, 2 * length)
      expect(credentials.redact(`no ${digits}`)).toBe('no [token]')
    }
  })

  it.each(['<b>12345678</b>', '%41%42%43%44', 'a<b>c<d>e<f>', '\\n\\t\\r\\n12', '&lt;&gt;&amp;'])(
    'is shown without a token that looks like markup: %s',
    odd => {
      const shown = new Credentials(odd).redact(`no ${odd}, ${JSON.stringify(odd)} > 2, ${odd.toUpperCase()}`)
      expect(shown).toBe('no [token], "[token]" > 2, [token]')
    },
  )

  it('leaves other texts unchanged', () => {
    const text = `{"message":"bad \\/ \\u0041 &amp; %2B ${token.slice(0, -1)} xa/t-0+1=2&3"4%4"}`
    expect(credentials.redact(text)).toBe(text)
  })

  it.each(['\\', '&', '%', '&amp;', '%25', '\\x', 'amp;', token.slice(0, -1)])(
    'is checked quickly, however many %s',
    piece => {
      const text = `&%${piece.repeat(65_536 / piece.length)}`
      expect(cpuMs(() => void credentials.redact(text))).toBeLessThan(200)
    },
  )
})
