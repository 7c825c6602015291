import starlight from '@astrojs/starlight'
import { defineConfig, passthroughImageService } from 'astro/config'
import { readContents } from '../pages.ts'
import { slugOf } from './site-pages.ts'

const { summary, sections } = readContents()

export default defineConfig({
  image: { service: passthroughImageService() },
  integrations: [
    starlight({
      title: 'logferry',
      description: summary,
      favicon: '/favicon.svg',
      customCss: ['./src/styles.css'],
      sidebar: [
        ...sections.map(({ title, pages }) => ({
          label: title,
          items: pages.map(page => ({ label: page.title, slug: slugOf(page.file) })),
        })),
        { label: 'API', items: [{ autogenerate: { directory: 'api' } }] },
        { label: 'Changelog', slug: 'changelog' },
      ],
    }),
  ],
})
