/** The parts of a page that the tests check: code blocks, links and headings. */
import { readFileSync } from 'node:fs'
import MarkdownIt from 'markdown-it'
import { readContents, root } from '../../docs/pages.ts'

const markdown = new MarkdownIt({ html: true })

type Token = ReturnType<typeof markdown.parse>[number]

/** A code block between fences. */
export interface Fence {
  /** Path of the page from the root of the repository. */
  readonly page: string
  /** Line of the opening fence, from 1. */
  readonly line: number
  readonly language: string
  readonly source: string
  /** The comment above the block, without its marks: `block: with transport; 1 event`. */
  readonly comment: string | undefined
}

/** Every page that is checked: the README, the table of contents, and the pages that the table of contents lists. */
export function checkedPages(): string[] {
  const listed = readContents().sections.flatMap(({ pages }) => pages.map(({ file }) => file))
  return ['README.md', 'docs/README.md', ...listed]
}

export function sourceOf(page: string): string {
  return readFileSync(`${root}${page}`, 'utf8')
}

export function fencesOf(page: string, source = sourceOf(page)): Fence[] {
  const tokens = markdown.parse(source, {})
  return tokens.flatMap((token, index) => {
    if (token.type !== 'fence') return []
    const line = (token.map?.[0] ?? 0) + 1
    const comment = commentOf(tokens[index - 1])
    return [{ page, line, language: token.info.trim(), source: token.content, comment }]
  })
}

function commentOf(token: Token | undefined): string | undefined {
  if (token?.type !== 'html_block') return undefined
  return /^<!--\s*(.*?)\s*-->$/s.exec(token.content.trim())?.[1]
}

/** Returns the rows of each table of a page, as they are written. The first row is the head of the table. */
export function tablesOf(page: string): string[][] {
  const source = sourceOf(page)
  const lines = source.split('\n')
  return markdown
    .parse(source, {})
    .filter(({ type }) => type === 'table_open')
    .map(({ map }) => lines.slice(...(map ?? [])))
}

/** Returns the targets of all links and images of a page. */
export function linksOf(page: string): string[] {
  const tokens = markdown.parse(sourceOf(page), {}).flatMap(token => token.children ?? [])
  const targets = tokens.map(token => token.attrGet('href') ?? token.attrGet('src'))
  return targets.filter(target => target !== null).map(String)
}

/** Returns the anchors of the headings of a page, as GitHub makes them. */
export function anchorsOf(page: string): Set<string> {
  const anchors = new Set<string>()
  for (const heading of headingsOf(page)) {
    const slug = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
      .replaceAll(' ', '-')
    let anchor = slug
    for (let n = 1; anchors.has(anchor); n++) anchor = `${slug}-${n}`
    anchors.add(anchor)
  }
  return anchors
}

/** Returns the texts of the headings of a page. */
export function headingsOf(page: string): string[] {
  return headings(page, () => true)
}

/** Returns the titles of a page: the headings of the first level. */
export function titlesOf(page: string): string[] {
  return headings(page, ({ tag }) => tag === 'h1')
}

function headings(page: string, isWanted: (token: Token) => boolean): string[] {
  const tokens = markdown.parse(sourceOf(page), {})
  return tokens.flatMap((token, index) => {
    if (token.type !== 'heading_open' || !isWanted(token)) return []
    return [(tokens[index + 1]?.children ?? []).map(({ content }) => content).join('')]
  })
}
