import { splitAtCommas } from '../../text/comma-list.ts'

/** A parameter of a request is not valid. */
export class BadRequest extends Error {}

const maxTextChars = 8192

/** The query string of a request, read with checks. Each method returns `undefined` for an absent parameter. */
export class Parameters {
  readonly #given: URLSearchParams

  constructor(query: string) {
    this.#given = new URLSearchParams(query)
  }

  text(name: string, maxChars: number = maxTextChars): string | undefined {
    const value = this.#given.get(name)
    if (value === null) return undefined
    if (value.length > maxChars) throw new BadRequest(`${name} may have ${maxChars} characters`)
    return value
  }

  requiredText(name: string): string {
    const value = this.text(name)
    if (value === undefined || value === '') throw new BadRequest(`${name} is missing`)
    return value
  }

  integer(name: string, min: number, max: number): number | undefined {
    const value = this.number(name)
    if (value === undefined) return undefined
    if (Number.isInteger(value) && value >= min && value <= max) return value
    throw new BadRequest(`${name} must be an integer from ${min} to ${max}`)
  }

  requiredInteger(name: string, min: number, max: number): number {
    const value = this.integer(name, min, max)
    if (value === undefined) throw new BadRequest(`${name} is missing`)
    return value
  }

  /** Returns a number, or `undefined` also for an empty text: a link may have `from=` for no bound. */
  number(name: string): number | undefined {
    const text = this.text(name, 40)
    if (text === undefined || text === '') return undefined
    const value = Number(text)
    if (Number.isFinite(value)) return value
    throw new BadRequest(`${name} must be a number`)
  }

  oneOf<T extends string>(name: string, allowed: readonly T[]): T | undefined {
    const value = this.text(name)
    if (value === undefined || value === '') return undefined
    const found = allowed.find(each => each === value)
    if (found !== undefined) return found
    throw new BadRequest(`${name} must be one of ${allowed.join(', ')}`)
  }

  flag(name: string): boolean | undefined {
    const value = this.oneOf(name, ['true', 'false', '1', '0'])
    return value === undefined ? undefined : value === 'true' || value === '1'
  }

  list(name: string, maxItems: number): string[] | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    const items = splitAtCommas(value)
    if (items.length <= maxItems) return items
    throw new BadRequest(`${name} may have ${maxItems} items`)
  }
}
