/**
 * The pages of the documentation, as `docs/README.md` lists them. That page is the one table of contents: readers of the
 * repository see it as it is, and the navigation of the site and `llms.txt` are made of it.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The root of the repository, with a slash at its end. */
export const root = fileURLToPath(new URL('..', import.meta.url))

export interface Page {
  readonly title: string
  /** Path of the file from the root of the repository. */
  readonly file: string
  readonly summary: string
}

export interface Section {
  readonly title: string
  readonly pages: readonly Page[]
}

export interface Contents {
  readonly title: string
  readonly summary: string
  readonly sections: readonly Section[]
}

const pageLine = /^- \[(?<title>.+?)\]\((?<link>[^)#]+\.md)\): (?<summary>.+)$/

/**
 * Reads the table of contents.
 *
 * @throws Error if a line is not a title, a text or a page
 */
export function readContents(source = readFileSync(`${root}docs/README.md`, 'utf8')): Contents {
  const [title = '', summary = '', ...lines] = source.split('\n').filter(line => line !== '')
  const sections: (Section & { readonly pages: Page[] })[] = []
  for (const line of lines) {
    const page = pageLine.exec(line)?.groups
    if (line.startsWith('## ')) sections.push({ title: line.slice(3), pages: [] })
    else if (page === undefined || sections.length === 0)
      throw new Error(`docs/README.md has a line that is neither a section nor a page: ${line}`)
    else sections.at(-1)?.pages.push(pageOf(page as Record<'title' | 'link' | 'summary', string>))
  }
  return { title: title.replace(/^# /, ''), summary, sections }
}

function pageOf({ title, link, summary }: Record<'title' | 'link' | 'summary', string>): Page {
  const file = new URL(link, 'file:///docs/').pathname.slice(1)
  return { title, file, summary }
}
