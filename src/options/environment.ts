import { type InvalidOption, misusedOption } from '../errors.ts'
import { ownProperties } from '../own-properties.ts'
import type { Definitions } from './option.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Returns the value that a variable of the environment gives, or `undefined` if the variable is missing or empty. */
function fromEnvironment(
  environment: Environment,
  name: string,
  fromText: (text: string) => unknown = text => text,
): unknown {
  const text = (Object.hasOwn(environment, name) && environment[name]) || undefined
  return text === undefined ? undefined : fromText(text)
}

/** Fills in options from the environment variables of their definitions. The options are not checked yet. */
export function withEnvironment(
  definitions: Definitions,
  given: object,
  environment: Environment,
): Readonly<Record<string, unknown>> {
  const options: Record<string, unknown> = ownProperties({ ...given })
  for (const [name, { env, envUnlessGiven = [], fromText }] of Object.entries(definitions)) {
    if (env === undefined || options[name] !== undefined) continue
    const isReplaced = envUnlessGiven.some(other => options[other] !== undefined)
    options[name] = isReplaced ? undefined : fromEnvironment(environment, env, fromText)
  }
  return options
}

/**
 * Returns what `resolve` makes of the options. If it refuses a value that the environment has given, the error names the
 * variable: the application that meets the error has not set the option itself.
 */
export function namingVariables<Resolved>(
  definitions: Definitions,
  given: object,
  environment: Environment,
  resolve: () => Resolved,
): Resolved {
  try {
    return resolve()
  } catch (error) {
    const { option = '' } = error as Partial<InvalidOption>
    const variable = Object.hasOwn(definitions, option) ? definitions[option]?.env : undefined
    const isSet = (given as Record<string, unknown>)[option] !== undefined
    if (variable === undefined || isSet || fromEnvironment(environment, variable) === undefined) throw error
    const { message } = error as Error
    const named = message.replace(`option \`${option}\``, `option \`${option}\` (from ${variable})`)
    throw misusedOption(option, error instanceof RangeError ? new RangeError(named) : new TypeError(named))
  }
}
