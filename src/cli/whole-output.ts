import { fstatSync, writeSync } from 'node:fs'

/**
 * Lets a file on standard output get the whole of each text, or fail. Node makes one write of it, and takes no notice if the
 * disk took only the first bytes, as a disk does that becomes full.
 */
export function writeWhole(stream: NodeJS.WriteStream & { fd: number }): void {
  if (!isFile(stream.fd)) return
  stream._write = (chunk: Buffer, _, callback) => {
    try {
      for (let at = 0; at < chunk.length; ) {
        const written = writeSync(stream.fd, chunk, at)
        if (written === 0) throw Object.assign(new Error('the disk took only a part of the text'), { code: 'ENOSPC' })
        at += written
      }
    } catch (error) {
      callback(error as Error)
      return
    }
    callback()
  }
}

function isFile(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isFile()
  } catch {
    return false // standard output is closed
  }
}
