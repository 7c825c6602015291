/** Links of the documentation: each leads to a file, and each anchor to a heading. */
import { existsSync, readdirSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readContents, root } from '../../docs/pages.ts'
import { anchorsOf, checkedPages, headingsOf, linksOf, sourceOf, titlesOf } from './markdown.ts'

describe.each([...checkedPages(), 'CHANGELOG.md'])('%s', page => {
  it('has links that lead to files and headings', () => {
    expect(
      linksOf(page)
        .map(link => problemOf(page, link))
        .filter(Boolean),
    ).toEqual([])
  })
})

describe('each page of the table of contents', () => {
  it('has one title, and says in its first sentence what it is', () => {
    for (const { file } of readContents().sections.flatMap(({ pages }) => pages)) {
      expect(titlesOf(file), file).toHaveLength(1)
      expect(sourceOf(file), file).toMatch(/^# .+\n\nThis page (is|lists|answers|describes) /)
    }
  })
})

describe('the table of contents', () => {
  const { sections } = readContents()
  const files = sections.flatMap(({ pages }) => pages.map(({ file }) => file))

  it('lists every page under docs/, and each once', () => {
    const pages = readdirSync(`${root}docs`).filter(name => name.endsWith('.md') && name !== 'README.md')
    expect(files.filter(file => file.startsWith('docs/')).sort()).toEqual(pages.map(name => `docs/${name}`).sort())
  })

  it('names each page as the page names itself, or with the first words of that', () => {
    for (const { file, title } of sections.flatMap(({ pages }) => pages)) {
      expect(headingsOf(file)[0]?.startsWith(title), `${file}: ${headingsOf(file)[0]}, not ${title}`).toBe(true)
    }
  })

  it('has no line of another kind, which the site would not show', () => {
    expect(() => readContents('# Title\n\nSummary\n\n## Section\n\nSome text.\n')).toThrow('Some text.')
  })
})

/** Returns the reason why a link leads nowhere, or `undefined`. Addresses on the web are checked for their form alone. */
function problemOf(page: string, link: string): string | undefined {
  if (/^[a-z]+:/i.test(link))
    return /^https:\/\/[\w.-]+\.[a-z]+(\/\S*)?$/.test(link) ? undefined : `${link}: no https address`
  const [path = '', anchor] = decodeURI(link).split('#')
  const file = path === '' ? page : relative(root, resolve(root, dirname(page), path))
  if (!existsSync(`${root}${file}`)) return `${link}: no such file`
  if (anchor !== undefined && !anchorsOf(file).has(anchor)) return `${link}: no such heading`
  return undefined
}
