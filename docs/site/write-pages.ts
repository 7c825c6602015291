/** Writes the pages of the site where Starlight expects them, and `llms.txt` with the Markdown of the pages beside it. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readContents, root } from '../pages.ts'
import { llmsTxt, markdownName, relativeLink, type SitePage, sitePages, slugOf } from './site-pages.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const apiFolder = `${here}build/api/`

const contents = readContents()
for (const page of [...sitePages(contents), ...apiPages()]) {
  write(`src/content/docs/${page.slug || 'index'}.md`, withFrontMatter(page))
}
const listed = contents.sections.flatMap(({ pages }) => pages.map(({ file }) => file))
const texts = listed.map(file => ({ name: markdownName(slugOf(file)), text: readFileSync(`${root}${file}`, 'utf8') }))
for (const { name, text } of texts) write(`public/${name}`, text)
write('public/llms-full.txt', texts.map(({ text }) => text).join('\n'))
write('public/llms.txt', llmsTxt(contents))
write('public/favicon.svg', readFileSync(`${here}favicon.svg`, 'utf8'))

/** Returns the pages that TypeDoc has made of the comments of the types: a list of the entry points, and a page for each. */
function apiPages(): SitePage[] {
  const files = readdirSync(apiFolder).filter(file => file.endsWith('.md'))
  return files.map(file => {
    const name = file.replace(/\.md$/, '')
    const source = readFileSync(`${apiFolder}${file}`, 'utf8').replace(/^# .*\n+/, '')
    if (name === 'modules') {
      const body = source.replace(/\[\w+\]\((\w+)\.md\)/g, (_, module: string) => {
        return `[${entryPoint(module)}](${relativeLink('api', apiSlug(module))})`
      })
      return { slug: 'api', title: 'Entry points', summary: 'The types and functions of each entry point', body }
    }
    const headings = [...source.matchAll(/^#+ (.+)$/gm)].map(([, text = '']) =>
      text.toLowerCase().replace(/[^\w ]/g, ''),
    )
    const body = source
      .replace(/\]\((\w+)\.md(#[\w-]+)?\)/g, (_, module: string, anchor = '') => {
        return `](${relativeLink(apiSlug(name), apiSlug(module))}${anchor})`
      })
      // TypeDoc counts a heading twice that differs from another in its case alone; the site does not.
      .replace(/\]\(#(\w+)-(\d+)\)/g, (link, anchor: string, n: string) => {
        return headings.filter(heading => heading === anchor).length > Number(n) ? link : `](#${anchor})`
      })
    const title = entryPoint(name)
    return { slug: apiSlug(name), title, summary: `The types and functions of ${title}`, body }
  })
}

function apiSlug(module: string): string {
  return `api/${module === 'index' ? 'core' : module}`
}

/** Returns the name by which applications import a module. */
function entryPoint(module: string): string {
  return module === 'index' ? 'logferry' : `logferry/${module}`
}

function withFrontMatter({ slug, title, summary, body }: SitePage): string {
  const data = { title, description: summary.replaceAll('`', ''), slug, editUrl: false }
  const lines = Object.entries(data).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
  return `---\n${lines.join('\n')}\n---\n\n${body}`
}

function write(path: string, text: string): void {
  mkdirSync(dirname(`${here}${path}`), { recursive: true })
  writeFileSync(`${here}${path}`, text)
}
