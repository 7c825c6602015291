import { expect, it } from 'vitest'
import { build } from './app.ts'

// The builds of the Nest and the Next.js app check the types of these two.
it('the apps pass a strict type check', async () => {
  await expect(build('typescript/bin/tsc', '-p', '.')).resolves.toBeUndefined()
})
