/**
 * Splits text from outside into pieces that are safe to look at. Bidirectional controls, control characters and
 * invisible characters become labels, so that no text can hide a part of itself or reorder what stands beside it.
 * ANSI color sequences become colors; all other escape sequences show as text.
 */
import { unseenNames } from '../../text/visible-text.ts'

export type AnsiColor = 'black' | 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan' | 'white' | 'gray'

export interface Piece {
  text: string
  /** A label stands for a character that would not be seen. */
  kind: 'text' | 'label'
  /** Name of the character that a label stands for. */
  title?: string
  color?: AnsiColor
  bold?: boolean
  /** True if the piece is an occurrence of a searched text. */
  match?: boolean
}

export interface VisibleOptions {
  /** Keep line breaks and tabs as they are; otherwise they are labels too. */
  lines?: boolean
  /** Marks these occurrences. */
  highlight?: RegExp | null
}

const suspicious = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/u
const special =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ESC begins a color.
  /\x1b\[(?<sgr>[\d;:]{0,64})m|(?<emoji>\p{RGI_Emoji})|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gv

/** Returns true if the text can be shown as it is. */
export function isPlain(text: string): boolean {
  return !suspicious.test(text)
}

export function visiblePieces(text: string, { lines = false, highlight = null }: VisibleOptions = {}): Piece[] {
  const pieces: Piece[] = []
  if (isPlain(text)) {
    pushText(pieces, text, {}, highlight)
    return pieces
  }
  let look: Look = {}
  let done = 0
  for (const match of text.matchAll(special)) {
    const [whole] = match
    if (match.groups?.emoji !== undefined) continue
    if (lines && (whole === '\n' || whole === '\t')) continue
    pushText(pieces, text.slice(done, match.index), look, highlight)
    done = match.index + whole.length
    if (match.groups?.sgr !== undefined) look = lookAfter(look, match.groups.sgr)
    else if (!(lines && whole === '\r' && text[done] === '\n')) pieces.push(labelOf(whole))
  }
  pushText(pieces, text.slice(done), look, highlight)
  return pieces
}

interface Look {
  color?: AnsiColor
  bold?: boolean
}

function pushText(pieces: Piece[], text: string, look: Look, highlight: RegExp | null): void {
  if (text === '') return
  if (highlight === null) {
    pieces.push({ text, kind: 'text', ...look })
    return
  }
  let done = 0
  for (const match of text.matchAll(highlight)) {
    if (match[0] === '') continue
    if (match.index > done) pieces.push({ text: text.slice(done, match.index), kind: 'text', ...look })
    pieces.push({ text: match[0], kind: 'text', ...look, match: true })
    done = match.index + match[0].length
  }
  if (done < text.length) pieces.push({ text: text.slice(done), kind: 'text', ...look })
}

function labelOf(char: string): Piece {
  const code = char.codePointAt(0) ?? 0
  const title = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
  if (code === 0x0a) return { text: '↵', kind: 'label', title: 'line break' }
  if (code === 0x09) return { text: '⇥', kind: 'label', title: 'tab' }
  if (code < 0x20) return { text: String.fromCharCode(0x2400 + code), kind: 'label', title }
  if (code === 0x7f) return { text: '␡', kind: 'label', title }
  if (code >= 0xd800 && code <= 0xdfff) return { text: '�', kind: 'label', title: `${title}, half of a character` }
  return { text: `⟦${unseenNames.get(code) ?? title}⟧`, kind: 'label', title }
}

const basic: readonly AnsiColor[] = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white']

/** Applies the codes of one "select graphic rendition" sequence. Codes without a meaning here are skipped. */
function lookAfter(look: Look, sgr: string): Look {
  const codes = sgr === '' ? [0] : sgr.split(/[;:]/).map(Number)
  let { color, bold } = look
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0
    if (code === 0) [color, bold] = [undefined, undefined]
    else if (code === 1) bold = true
    else if (code === 22) bold = undefined
    else if (code >= 30 && code <= 37) color = basic[code - 30]
    else if (code === 39) color = undefined
    else if (code === 90) color = 'gray'
    else if (code >= 91 && code <= 97) color = basic[code - 90]
    else if (code === 38 || code === 48) {
      const wide = codes[at + 1] === 2
      if (code === 38) color = wide ? nearest(codes.slice(at + 2, at + 5)) : indexed(codes[at + 2] ?? 0)
      at += wide ? 4 : 2
    }
  }
  return { ...(color && { color }), ...(bold && { bold }) }
}

/** A color of the 256 as one of ours. */
function indexed(index: number): AnsiColor | undefined {
  if (index < 8) return basic[index]
  if (index === 8) return 'gray'
  if (index < 16) return basic[index - 8]
  if (index >= 232) return index < 250 ? 'gray' : 'white'
  const cube = index - 16
  return nearest([Math.floor(cube / 36) * 51, (Math.floor(cube / 6) % 6) * 51, (cube % 6) * 51])
}

/** The color of ours with the same strong components. */
function nearest([red = 0, green = 0, blue = 0]: readonly number[]): AnsiColor | undefined {
  const max = Math.max(red, green, blue)
  if (max - Math.min(red, green, blue) < 40) return max < 64 ? 'black' : max < 200 ? 'gray' : 'white'
  const isStrong = (part: number) => (part > max * 0.6 ? 1 : 0)
  return basic[isStrong(red) + 2 * isStrong(green) + 4 * isStrong(blue)]
}

/** A pattern that finds each of the texts, without regard to case. `null` if there is none. */
export function highlightOf(texts: readonly string[]): RegExp | null {
  const found = texts.filter(text => text !== '').slice(0, 20)
  if (found.length === 0) return null
  return new RegExp(found.map(text => escaped(text)).join('|'), 'giu')
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}
