/**
 * Options of an application that the warnings of a shipper name, and what sets them for a command. Advice is left out if no
 * command can follow it.
 */
const ways: readonly (readonly [name: RegExp, way: string])[] = [
  [/ The option onRejected receives them, and the spool/g, ' The spool'],
  [/ The option limits keeps requests within the rate of the license\./g, ''],
  [/ raise requestTimeoutMs: events whose answer/g, ' events whose answer'],
  [/ lower maxBatchBytes, or allow more time/g, ' allow more time'],
  [/ (Lower maxEventBytes|Set (maxBatchBytes|compression|contentType)\b[^.]*)\./g, ''],
  [/\bbaseUrl\b/g, 'LOGFERRY_URL'],
  [/\b(requestTimeoutMs, )?flushTimeoutMs, exitTimeoutMs\b/g, '--timeout'],
  [/\bmaxBufferedBytes\b/g, '--buffer-bytes'],
  [/\bspool\.maxBytes\b/g, '--spool-max-bytes'],
]

/**
 * Returns a warning of a shipper in the words of a command: its user may not know the options of an application.
 *
 * @param options the options of the command, by their names
 */
export function inCommandWords(warning: string, options: object): string {
  return ways
    .filter(([, way]) => !way.startsWith('--') || Object.hasOwn(options, way.slice(2)))
    .reduce((text, [name, way]) => text.replaceAll(name, way), warning)
}
