/** Values of `--color`. */
export const colorChoices = ['auto', 'always', 'never'] as const
export type ColorChoice = (typeof colorChoices)[number]

/** True if standard output gets colors. With `auto`, these are a terminal's, unless `NO_COLOR` or `FORCE_COLOR` is set. */
export function hasColors(choice: ColorChoice): boolean {
  if (choice !== 'auto') return choice === 'always'
  const { NO_COLOR, FORCE_COLOR } = process.env
  if (NO_COLOR !== undefined && NO_COLOR !== '') return false
  if (FORCE_COLOR !== undefined && FORCE_COLOR !== '') return FORCE_COLOR !== '0'
  return process.stdout.isTTY === true && process.stdout.hasColors()
}
