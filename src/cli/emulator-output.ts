import type { Emulator } from '../emulator.ts'
import { escapeJson } from '../text/escape-json.ts'
import { toShortLine } from '../text/short-line.ts'
import { print, printError } from './print.ts'

/** Prints what happens at the emulator. */
export interface EmulatorOutput {
  /** Prints the settings that an application needs. */
  listening(emulator: Emulator, token: string): void
  /** Prints an event, which is one line of JSON. */
  event(dataset: string, line: string): void
  ended(received: number): void
}

/** The dataset in the printed settings. The emulator takes any other, too. */
const dataset = 'local'

/** Returns the output for people. With `isTail`, standard output carries only events, so that the user can pipe them. */
export function outputInWords(isTail: boolean): EmulatorOutput {
  const announce = isTail ? printError : print
  return {
    listening: (emulator, token) => announce(welcome(emulator, token)),
    event: (dataset, line) => print(`${toShortLine(dataset)} ${onOneLine(line)}`),
    ended: received => announce(`\nEvents received: ${received}`),
  }
}

/** The output for programs: one JSON object a line, with its kind in `type`. */
export const outputInJson: EmulatorOutput = {
  listening: ({ url, orgId, accessToken }, token) => {
    print(escapeJson(JSON.stringify({ type: 'listening', url, token, dataset, orgId, accessToken })))
  },
  event: (dataset, line) => {
    const head = escapeJson(JSON.stringify({ type: 'event', dataset })).slice(0, -1)
    print(`${head},"event":${onOneLine(line)}}`)
  },
  ended: received => print(JSON.stringify({ type: 'end', received })),
}

function onOneLine(json: string): string {
  return escapeJson(json).replaceAll('\n', ' ')
}

function welcome(emulator: Emulator, token: string): string {
  return `The emulator is listening on ${emulator.url}

  export LOGFERRY_URL=${emulator.url}
  export LOGFERRY_TOKEN=${token}
  export LOGFERRY_DATASET=${dataset}
  export LOGFERRY_ORG_ID=${emulator.orgId}

To read its organization, use this access token (option \`accessToken\` of \`limits\` and of logferry/org):

  ${emulator.accessToken}

Press Ctrl-C to stop.
`
}
