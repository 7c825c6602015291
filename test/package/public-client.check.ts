import { afterAll, beforeAll, describe, it } from 'vitest'
import { Application } from './application.ts'

/** Clients of a public service with this kind of API, written by others. They show if the emulator speaks that API. */
describe('a public client', () => {
  let application: Application

  beforeAll(async () => {
    const dependencies = ['@axiomhq/js@2.0.0', '@axiomhq/winston@1.8.0', 'winston@3.19.0']
    application = await Application.install('public-client', dependencies)
  })
  afterAll(() => application?.remove())

  it('ingests into the emulator, gzip included (@axiomhq/js)', async () => {
    await application.node('client.mjs')
  })

  it('ingests into the emulator from Winston (@axiomhq/winston)', async () => {
    await application.node('winston.mjs')
  })
})
