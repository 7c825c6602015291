/** What a folder has before the blocks of a page run in it, by the name in the comment of a block: `in spool`. */
import { mkdir, writeFile } from 'node:fs/promises'
import type { Emulator } from '../../src/emulator.ts'
import { createShipper } from '../../src/index.ts'
import { leaveInSpool } from '../support/spool-left.ts'

export const folders: Readonly<Record<string, (folder: string, emulator: Emulator) => Promise<void>>> = {
  /** The spool of a process that ended while the service was away, with three events. */
  async spool(folder, emulator) {
    await mkdir(`${folder}/spool`, { recursive: true, mode: 0o700 })
    await leaveInSpool(`${folder}/spool/checkout`, 3, emulator)
  },

  /** An export of three events with uids. */
  async export(folder, emulator) {
    const shipper = createShipper({ baseUrl: emulator.url, token: emulator.token, dataset: 'export', identify: true })
    for (let n = 0; n < 3; n++) shipper.ship({ n })
    await shipper.close()
    const events = emulator.events('export')
    emulator.clear()
    await writeFile(`${folder}/export.ndjson`, events.map(event => `${JSON.stringify(event)}\n`).join(''))
  },
}
