import type { NonFinite } from '../record/plain.ts'
import { FieldGuard, type FieldGuardOptions } from './field-guard.ts'
import { FieldTexts, type FieldTextsOptions } from './field-texts.ts'
import { type FieldFindings, FieldWatch, type FieldWatchListener } from './field-watch.ts'

/** The part of the rules for fields that the limits of the license use. `FieldGuard` alone has it, too. */
export interface Fields {
  /** Maximum number of distinct fields per dataset, from the license. */
  maxFields: number
  fold(dataset: string, event: object, nonFinite: NonFinite): object
  know(dataset: string, fields: object): void
  readonly datasets: string[]
  fieldCount(dataset: string): number
}

interface FieldRulesOptions extends FieldGuardOptions, FieldTextsOptions, FieldWatchListener {
  /** Paths of groups that become one text each. */
  readonly asText: readonly string[]
}

/** The fields of a dataset, as counted and found in a sample of the events. */
export interface FieldUsage extends FieldFindings {
  /** Number of fields, including fields that every dataset has. */
  readonly count: number
}

/** The application's rules for fields: groups that become texts, the number of fields, and what should be values. */
export class FieldRules implements Fields {
  readonly #guard: FieldGuard
  readonly #texts: FieldTexts | undefined
  readonly #watch: FieldWatch

  constructor(options: FieldRulesOptions) {
    this.#guard = new FieldGuard(options)
    this.#texts = options.asText.length === 0 ? undefined : new FieldTexts(options.asText, options)
    this.#watch = new FieldWatch(options)
  }

  /** Returns the event to send in place of `event`. Never throws, and never changes the event. */
  fold(dataset: string, event: object, nonFinite: NonFinite): object {
    const withTexts = this.#texts === undefined ? event : this.#texts.fold(event, nonFinite)
    this.#watch.observe(dataset, withTexts)
    return this.#guard.fold(dataset, withTexts, nonFinite)
  }

  know(dataset: string, fields: object): void {
    this.#guard.know(dataset, fields)
  }

  get maxFields(): number {
    return this.#guard.maxFields
  }

  set maxFields(maxFields: number) {
    this.#guard.maxFields = maxFields
  }

  get datasets(): string[] {
    return this.#guard.datasets
  }

  fieldCount(dataset: string): number {
    return this.#guard.fieldCount(dataset)
  }

  /** Returns the fields of each dataset. */
  usage(): Record<string, FieldUsage> {
    return Object.fromEntries(
      this.datasets.map(name => [name, { count: this.fieldCount(name), ...this.#watch.findings(name) }]),
    )
  }
}
