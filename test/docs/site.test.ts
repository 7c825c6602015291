/** The site of the documentation, as far as it does not need what renders it. */
import { describe, expect, it } from 'vitest'
import { readContents } from '../../docs/pages.ts'
import { forSite, llmsTxt, markdownName, relativeLink, sitePages, slugOf } from '../../docs/site/site-pages.ts'

describe('the pages of the site', () => {
  const pages = sitePages()
  const slugs = new Set(pages.map(({ slug }) => slug))

  it('have an address each, and one of them is the first page', () => {
    expect(slugs.size).toBe(pages.length)
    expect(slugs).toContain('')
    expect(slugs).toContain('benchmarks')
  })

  it('link to pages of the site alone, wherever the site is', () => {
    for (const { slug, body } of pages.filter(({ slug }) => !slug.startsWith('source/'))) {
      const prose = body.replace(/^```.*?^```/gms, '')
      for (const [, target = ''] of prose.matchAll(/\]\(([^)\s#]+)/g)) {
        if (/^https:/.test(target)) continue
        const linked = new URL(target, `http://site/below/${slug === '' ? '' : `${slug}/`}`).pathname
        expect(slugs, `${slug} links to ${target}`).toContain(linked.replace(/^\/below\/|\/$/g, ''))
      }
    }
  })

  it('show the source files to which pages link', () => {
    expect(pages.find(({ slug }) => slug === 'source/examples/serverless-ts')?.body).toContain('createShipper')
  })

  it('have neither the title, which the site shows, nor the comments for the tests', () => {
    expect(forSite('# Title\n\n<!-- block: 1 event -->\n```ts\nlog()\n```\n', 'docs/winston.md')).toBe(
      '```ts\nlog()\n```\n',
    )
  })

  it.each([
    ['', 'winston', 'winston/'],
    ['winston', 'spool', '../spool/'],
    ['source/examples/a-ts', 'winston', '../../../winston/'],
    ['winston', '', '../'],
  ])('link from /%s to /%s as %s', (from, to, link) => {
    expect(relativeLink(from, to)).toBe(link)
  })
})

it('llms.txt lists every page of the table of contents', () => {
  const contents = readContents()
  const text = llmsTxt(contents)
  for (const { file, title, summary } of contents.sections.flatMap(({ pages }) => pages)) {
    expect(text).toContain(`- [${title}](${markdownName(slugOf(file))}): ${summary}\n`)
  }
})
