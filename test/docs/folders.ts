/** What a folder has before the blocks of a page run in it, by the name in the comment of a block: `in spool`. */
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { root } from '../../docs/pages.ts'
import type { Emulator } from '../../src/emulator.ts'
import { createShipper } from '../../src/index.ts'
import { leaveInSpool } from '../support/spool-left.ts'

/** Puts the package and everything that is installed with it where programs in a folder find them. */
export async function linkPackages(folder: string): Promise<void> {
  await mkdir(`${folder}/node_modules`)
  for (const name of await readdir(`${root}node_modules`)) {
    await symlink(`${root}node_modules/${name}`, `${folder}/node_modules/${name}`)
  }
  await symlink(root, `${folder}/node_modules/logferry`)
}

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
