/**
 * The pages of the site, made of the files that readers of the repository see: the pages that `docs/README.md` lists, the
 * README as the first page, and the source files to which the pages link.
 */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { posix } from 'node:path'
import { type Contents, type Page, readContents, root } from '../pages.ts'

export interface SitePage {
  /** Path of the page on the site; empty for the first page. */
  readonly slug: string
  readonly title: string
  readonly summary: string
  /** Markdown, with links to pages of the site, and without the title. */
  readonly body: string
}

const firstPage = 'README.md'
const tableOfContents = 'docs/README.md'

/** Returns all pages of the site but those of the API. */
export function sitePages(contents = readContents()): SitePage[] {
  const pages: Page[] = [
    { title: 'logferry', file: firstPage, summary: contents.summary },
    { title: 'Contents', file: tableOfContents, summary: 'All pages of the documentation' },
    ...contents.sections.flatMap(section => section.pages),
    { title: 'Changelog', file: 'CHANGELOG.md', summary: 'The notable changes of each version' },
  ]
  const sources = new Set<string>()
  const isPage = new Set(pages.map(({ file }) => file))
  const made = pages.map(({ file, summary }) => {
    const source = readFileSync(`${root}${file}`, 'utf8')
    const title = (/^# (.*)$/m.exec(source)?.[1] ?? file).replaceAll('`', '')
    const body = forSite(source, file, linked => {
      if (!isPage.has(linked)) sources.add(linked)
    })
    return { slug: slugOf(file), title, summary, body }
  })
  return [...made, ...[...sources].sort().map(sourcePage)]
}

/** Returns the path of a file on the site. */
export function slugOf(file: string): string {
  if (file === firstPage) return ''
  if (file === tableOfContents) return 'contents'
  if (!file.endsWith('.md')) return `source/${file.replaceAll('.', '-').toLowerCase()}`
  return posix
    .join(posix.dirname(file), posix.basename(file, '.md'))
    .toLowerCase()
    .replace(/^docs\//, '')
    .replace(/\/readme$/, '')
}

/**
 * Makes the Markdown of the site of that of the repository: without the title and the comments, and with links to pages.
 *
 * @param onLinked called with each file to which the page links
 */
export function forSite(source: string, file: string, onLinked: (file: string) => void = () => {}): string {
  const from = slugOf(file)
  return source
    .replace(/^# .*\n+/, '')
    .replace(/^<!--.*?-->\n/gms, '')
    .replace(/(!?\[(?:[^\][]|\[[^\]]*\])*\])\(([^)\s]+)\)/g, (link, text: string, target: string) => {
      if (/^[a-z]+:|^#/i.test(target)) return link
      const [path = '', anchor] = target.split('#')
      const linked = posix.join(posix.dirname(file), path)
      if (!existsSync(`${root}${linked}`)) throw new Error(`${file} links to ${target}, which does not exist`)
      if (statSync(`${root}${linked}`).isDirectory()) return text.slice(1, -1)
      onLinked(linked)
      return `${text}(${relativeLink(from, slugOf(linked))}${anchor === undefined ? '' : `#${anchor}`})`
    })
}

/** Returns the link from one page to another. Each page is a folder. The link holds whatever path the site is under. */
export function relativeLink(from: string, to: string): string {
  return `${posix.relative(`/${from}`, `/${to}`) || '.'}/`
}

/** Returns a page that shows a source file. */
function sourcePage(file: string): SitePage {
  const source = readFileSync(`${root}${file}`, 'utf8')
  const language = posix.extname(file).slice(1)
  return {
    slug: slugOf(file),
    title: posix.basename(file),
    summary: `The file ${file}`,
    body: `\`${file}\`\n\n\`\`\`\`${language}\n${source}\`\`\`\`\n`,
  }
}

/** Returns `llms.txt`: what the documentation has, for programs that read it. The links lead to the Markdown of the pages. */
export function llmsTxt({ title, summary, sections }: Contents): string {
  const lists = sections.map(section => {
    const pages = section.pages.map(page => `- [${page.title}](${markdownName(slugOf(page.file))}): ${page.summary}`)
    return `## ${section.title}\n\n${pages.join('\n')}\n`
  })
  return `# ${title}\n\n> ${summary}\n\n[All pages in one file](llms-full.txt)\n\n${lists.join('\n')}`
}

/** Returns the name of the file with the Markdown of a page. */
export function markdownName(slug: string): string {
  return `${slug.replaceAll('/', '-') || 'index'}.md`
}
