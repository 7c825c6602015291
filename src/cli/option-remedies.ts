import type { InvalidOption } from '../errors.ts'
import { toMessageLine } from '../text/short-line.ts'
import { Misuse } from './command.ts'

/** An option of a shipper in the words of a command. */
interface Words {
  /** The value of the option. */
  readonly noun: string
  /** How the user of a command sets the option. */
  readonly remedy: string
}

const wordsFor: ReadonlyMap<string, Words> = new Map([
  ['baseUrl', { noun: 'address', remedy: 'Set LOGFERRY_URL to the address of the service, or give --url.' }],
  [
    'token',
    {
      noun: 'token',
      remedy: 'Set LOGFERRY_TOKEN to an API token of the service. A token is never given on the command line.',
    },
  ],
  ['dataset', { noun: 'dataset', remedy: 'Set LOGFERRY_DATASET, or give --dataset.' }],
  ['region', { noun: 'region', remedy: "Set LOGFERRY_REGION to 'us' or 'eu'." }],
  [
    'orgId',
    { noun: 'organization', remedy: 'Set LOGFERRY_ORG_ID to the id of the organization of the personal access token.' },
  ],
])

/** The end of the message for options that are not set. */
const missing = 'got nothing'

/** Returns the words for each option that a message is about: several may be missing. */
function wordsOf(option: string, message: string): Words[] {
  const names = message.endsWith(missing) ? Array.from(message.matchAll(/`(\w+)`/g), ([, name = '']) => name) : [option]
  return names.map(name => wordsFor.get(name)).filter(words => words !== undefined)
}

/** Returns how to set the options that a message is about; `undefined` if their names say so themselves. */
export function remedyFor(option: string, message: string): string | undefined {
  const remedies = wordsOf(option, message).map(({ remedy }) => remedy)
  return remedies.length === 0 ? undefined : remedies.join(' ')
}

/**
 * Creates what a command needs, such as a shipper, with options from the environment and the command line.
 *
 * @throws Misuse if an option is invalid, with the way to set it
 */
export function createWith<Created>(create: () => Created): Created {
  try {
    return create()
  } catch (error) {
    throw asMisuse(error)
  }
}

/** Returns the error of an invalid option as a misuse of the command, and any other error as it is. */
export function asMisuse(error: unknown): unknown {
  const { code, option = '' } = error as Partial<InvalidOption>
  if (code !== 'LOGFERRY_INVALID_OPTION') return error
  const { message } = error as Error
  const remedy = remedyFor(option, message)
  if (remedy !== undefined && message.endsWith(missing)) {
    const nouns = wordsOf(option, message).map(({ noun }) => `no ${noun}`)
    return new Misuse(toMessageLine(`${nouns.join(', ')} given. ${remedy}`))
  }
  const inOurWords = message.replace(/^logferry: /, '').replace('allowInsecure is true', '--allow-insecure is given')
  return new Misuse(toMessageLine(remedy === undefined ? inOurWords : `${inOurWords}. ${remedy}`))
}
